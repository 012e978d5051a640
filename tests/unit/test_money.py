"""Amounts are integers of minor units; no float ever takes part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments_pages.exceptions import AmountError
from payments_pages.money import EXPONENTS, MAX_AMOUNT, format_amount, major_text, parse_amount

AMOUNTS = st.integers(1, MAX_AMOUNT)
CURRENCIES = st.sampled_from(sorted(EXPONENTS))
ARABIC = str.maketrans("0123456789.,", "٠١٢٣٤٥٦٧٨٩٫٬")


@given(AMOUNTS, CURRENCIES)
def test_what_is_shown_can_be_typed_back(amount: int, currency: str) -> None:
    assert parse_amount(format_amount(amount, currency), currency) == amount


@given(AMOUNTS, CURRENCIES)
def test_arabic_indic_digits_and_grouping_mean_the_same(amount: int, currency: str) -> None:
    major, minor = divmod(amount, 100)
    text = f"{major:,}.{minor:02}".translate(ARABIC)
    assert parse_amount(f"\u200f{text} {currency}\u200e", currency) == amount


@given(AMOUNTS, st.integers(0, 6))
def test_every_exponent_round_trips(amount: int, exponent: int) -> None:
    exponents = {"ABC": exponent}
    assert parse_amount(major_text(amount, exponent), "ABC", exponents) == amount


@given(st.text(max_size=30), st.sampled_from(["", "ILS", "jod", "EUR"]))
def test_any_text_gives_a_positive_amount_or_an_amount_error(text: str, currency: str) -> None:
    try:
        amount = parse_amount(text, currency)
    except AmountError:
        return
    assert 0 < amount <= MAX_AMOUNT


@pytest.mark.parametrize(
    ("text", "currency", "amount"),
    [
        ("599.80", "ILS", 59980),
        ("19.99", "ILS", 1999),
        ("0.29", "ILS", 29),
        ("1.0", "JOD", 100),
        ("1,234,567.8", "USD", 123456780),
        ("₪ 123.45", "ILS", 12345),
        ("123.45 ₪", "ILS", 12345),
        ('123.45 ש"ח', "ILS", 12345),
        ("123.45 ש״ח", "ILS", 12345),
        ("123.45 nis", "ILS", 12345),
        ("123.45 د.أ.", "JOD", 12345),
        ("١٢٣٫٤٥ د.أ", "JOD", 12345),
        ("د.ا 5", "JOD", 500),
        ("5 JD", "JOD", 500),
        ("$5", "usd", 500),
        ("5 jod", "JOD", 500),
        ("5", "", 500),
        ("5 JOD", "", 500),
    ],
)
def test_what_people_type_is_read(text: str, currency: str, amount: int) -> None:
    assert parse_amount(text, currency) == amount


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "blank"),
        ("  \u200f ", "blank"),
        ("ILS", "blank"),
        ("-5", "negative"),
        ("\u22125", "negative"),
        ("₪-5", "negative"),
        ("1e3", "malformed"),
        (".5", "malformed"),
        ("5.", "malformed"),
        ("1 000", "malformed"),
        ("²", "malformed"),
        ("123,45", "comma"),
        ("1,23,456", "comma"),
        ("1.005", "decimals"),
        ("0", "zero"),
        ("0.00", "zero"),
        ("92233720368547758.08", "too_large"),
        ("9" * 5000, "too_large"),
        ("5 USD", "currency"),
        ("5 EUR", "currency"),
        ("JD 5", "currency"),
    ],
)
def test_each_mistake_has_its_own_message(text: str, code: str) -> None:
    with pytest.raises(AmountError) as caught:
        parse_amount(text, "ILS")
    assert caught.value.code == code


EXPONENTS_OF_FOUR = {"JPY": 0, "ILS": 2, "JOD": 2, "KWD": 3, "CLF": 4}


@pytest.mark.parametrize(
    ("text", "jpy", "ils", "kwd", "clf"),
    [
        ("500", 500, 50000, 500000, 5000000),
        ("1,500", 1500, 150000, 1500000, 15000000),
        ("1,234,567", 1234567, 123456700, 1234567000, 12345670000),
        ("1.5", "decimals", 150, 1500, 15000),
        ("1.50", "decimals", 150, 1500, 15000),
        ("1.05", "decimals", 105, 1050, 10500),
        ("1,500.00", "decimals", 150000, 1500000, 15000000),
        # A point and three digits: the decimals of three, elsewhere perhaps a group of thousands.
        ("1.500", "decimals", "ambiguous", 1500, 15000),
        ("12.000", "ambiguous", "ambiguous", 12000, 120000),
        ("120.000", "ambiguous", "ambiguous", 120000, 1200000),
        ("1.250", "decimals", "ambiguous", 1250, 12500),
        ("1.226", "decimals", "decimals", 1226, 12260),
        # No group can begin with a nought, have four digits, or stand behind a comma's group.
        ("0.500", "decimals", "decimals", 500, 5000),
        ("1234.000", "decimals", "decimals", 1234000, 12340000),
        ("1,234.000", "decimals", "decimals", 1234000, 12340000),
        ("1.5000", "decimals", "decimals", "decimals", 15000),
        ("1.0", "decimals", 100, 1000, 10000),
        ("1.234.567", "malformed", "malformed", "malformed", "malformed"),
        ("1,50", "comma", "comma", "comma", "comma"),
        ("1.500,00", "comma", "comma", "comma", "comma"),
    ],
)
@pytest.mark.parametrize("arabic", [False, True])
def test_a_figure_is_read_by_its_currencys_decimals_or_refused(
    text: str, jpy: object, ils: object, kwd: object, clf: object, arabic: bool
) -> None:
    typed = text.translate(ARABIC) if arabic else text
    meant = {"JPY": jpy, "ILS": ils, "JOD": ils, "KWD": kwd, "CLF": clf}
    assert {code: read(typed, code) for code in meant} == meant


def read(text: str, currency: str) -> object:
    try:
        return parse_amount(text, currency, EXPONENTS_OF_FOUR)
    except AmountError as error:
        return error.code


@pytest.mark.parametrize(
    ("text", "currency", "readings"),
    [
        ("1.500", "ILS", ("1.50", "1,500")),
        ("12.000", "ILS", ("12.00", "12,000")),
        ("12.000", "JPY", ("12", "12,000")),
        ("\u0661\u066b\u0665\u0660\u0660", "JOD", ("1.50", "1,500")),
        ("1.500 JOD", "", ("1.50", "1,500")),
    ],
)
def test_an_ambiguous_figure_is_refused_with_both_readings_that_can_be_typed(
    text: str, currency: str, readings: tuple[str, str]
) -> None:
    with pytest.raises(AmountError) as caught:
        parse_amount(text, currency, EXPONENTS_OF_FOUR)
    assert (caught.value.code, caught.value.readings) == ("ambiguous", readings)
    assert all(reading in str(caught.value) for reading in readings)
    one, other = (parse_amount(typed, currency or "JOD", EXPONENTS_OF_FOUR) for typed in readings)
    assert (one, other) in {(150, 150000), (1200, 1200000), (12, 12000)}


@given(st.integers(0, 10**9), st.integers(0, 999), st.integers(0, 4))
def test_no_figure_means_two_amounts(whole: int, part: int, exponent: int) -> None:
    """What is accepted with a point would be no group of thousands: else it is refused."""
    text = f"{whole}.{part:03}"
    try:
        amount = parse_amount(text, "ABC", {"ABC": exponent})
    except AmountError:
        return
    assert exponent >= 3
    assert amount == (whole * 1000 + part) * 10 ** (exponent - 3)


def test_the_decimals_of_an_unknown_currency_are_not_guessed() -> None:
    with pytest.raises(AmountError) as caught:
        parse_amount("5", "EUR")
    assert (caught.value.code, caught.value.currency) == ("currency", "EUR")
    assert parse_amount("5", "EUR", {"EUR": 2}) == 500


def test_the_code_that_is_typed_says_how_many_decimals_there_are() -> None:
    assert parse_amount("5 KWD", "", {**EXPONENTS, "KWD": 3}) == 5000


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        (12345, "JOD", "123.45\u00a0JOD"),
        (5, "ils", "0.05\u00a0ILS"),
        (0, "USD", "0.00\u00a0USD"),
        (-100, "USD", "-1.00\u00a0USD"),
        (-50, "USD", "-0.50\u00a0USD"),
        (99_999, "ILS", "999.99\u00a0ILS"),
        (123_456_750, "ILS", "1,234,567.50\u00a0ILS"),
        (-123_456_750, "ILS", "-1,234,567.50\u00a0ILS"),
        (None, "USD", ""),
        (12345, "EUR", "12345\u00a0EUR\u00a0(minor units)"),
        (12345, "", "12345\u00a0(minor units)"),
    ],
)
def test_amounts_are_shown_in_major_units(amount: int | None, currency: str, shown: str) -> None:
    assert format_amount(amount, currency) == shown


def test_a_currency_without_decimals_is_shown_whole() -> None:
    assert format_amount(500, "JPY", {"JPY": 0}) == "500\u00a0JPY"
