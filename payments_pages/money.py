"""Amounts, read and shown: integers of minor units, with their currency beside them.

The service counts agora, qirsh and cents (docs/service.md: Units), each a hundredth. ISO 4217
gives JOD three decimals; this service does not, so no currency library is asked.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from payments_pages.exceptions import AmountError
from payments_pages.marks import drop_marks

__all__ = [
    "EXPONENTS",
    "MAX_AMOUNT",
    "fold_currency",
    "format_amount",
    "major_text",
    "parse_amount",
]

EXPONENTS: Mapping[str, int] = MappingProxyType({"ILS": 2, "JOD": 2, "USD": 2})
"""Decimals of each currency at this service; the `CURRENCIES` setting adds to it."""

SYMBOLS: Mapping[str, str] = MappingProxyType(
    {
        "₪": "ILS",
        'ש"ח': "ILS",
        "ש״ח": "ILS",
        "NIS": "ILS",
        "$": "USD",
        "JD": "JOD",
        "د.أ.": "JOD",
        "د.أ": "JOD",
        "د.ا": "JOD",
    }
)
"""What people write for a currency, besides its code."""

NO_BREAK_SPACE = "\u00a0"
MAX_AMOUNT = 2**63 - 1
"""Largest number of minor units that a column holds: 64 bits with a sign."""

_ARABIC = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹٫٬", "01234567890123456789.,")
_PLAIN = re.compile(r"(?P<whole>\d+)(?:\.(?P<part>\d+))?", re.ASCII)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_GROUP = re.compile(r"[1-9]\d{0,2},\d{3}", re.ASCII)
_CODE = re.compile(r"[A-Z]{3}")


def fold_currency(code: str) -> str:
    """Return a currency's code in upper case, or unchanged if not all of its letters are ASCII.

    Python's `upper()` makes "ILS" of "ıls", whose first letter is a Turkish one: another code.
    """
    return code.upper() if code.isascii() else code


def major_text(amount: int, exponent: int) -> str:
    """Write minor units in major ones: `12345` with exponent 2 is `"123.45"`.

    Latin digits and a full stop in every language (our decision: digits must match the
    service's own receipts, and survive copying).
    """
    sign, digits = ("-", str(-amount)) if amount < 0 else ("", str(amount))
    if exponent == 0:
        return f"{sign}{digits}"
    digits = digits.rjust(exponent + 1, "0")
    return f"{sign}{digits[:-exponent]}.{digits[-exponent:]}"


def format_amount(
    amount: int | None, currency: str, exponents: Mapping[str, int] = EXPONENTS
) -> str:
    """Show people an amount of minor units: `1,234.50 JOD`, with a no-break space; `""` for None.

    Thousands are grouped by a comma in every language, as `parse_amount` reads them. An unknown
    currency shows the raw figure and says so: guessing its decimals would show a price ten times too
    high or low.
    """
    if amount is None:
        return ""
    code = fold_currency(currency)
    exponent = exponents.get(code)
    if exponent is None:
        return NO_BREAK_SPACE.join(filter(None, (str(amount), code, "(minor units)")))
    whole, point, part = major_text(amount, exponent).partition(".")
    return f"{_grouped(whole)}{point}{part}{NO_BREAK_SPACE}{code}"


def _grouped(digits: str) -> str:
    """Put a comma before every third digit from the end; a sign in front stays."""
    return f"{int(digits):,}" if digits != "-0" else digits


def parse_amount(text: str, currency: str = "", exponents: Mapping[str, int] = EXPONENTS) -> int:
    """Read what a person typed in major units: `"120.50"` is 12050 minor units.

    Accept Arabic-Indic digits, the Arabic decimal sign, well-formed grouping, bidi marks and the
    currency's own code or symbol. A full stop is always the decimal sign, a comma always groups, in
    a currency of three decimals as in any other: what a sign means must not depend on where the
    account is. Where a figure could be meant the other way round it is refused: "1.500" with two
    decimals is one and a half or fifteen hundred.

    Raise `AmountError`, whose `code` says which rule was broken: `blank`, `currency`, `negative`,
    `comma`, `malformed`, `decimals`, `ambiguous`, `zero`, `too_large`.
    No float takes part: 599.80 stays 59980 (docs/cases.md C42).
    """
    figure, code = _split_currency(_normalise(text), currency.upper(), exponents)
    if not figure:
        raise AmountError("Enter an amount, for example 120.50.", code="blank")
    if figure[0] in "-\u2212":
        raise AmountError("Enter a positive amount.", code="negative")
    if grouped := _GROUPED.fullmatch(figure):
        figure = figure.replace(",", "")
    elif "," in figure:
        raise AmountError("Use a full stop for decimals, for example 120.50.", code="comma")
    match = _PLAIN.fullmatch(figure)
    if match is None:
        raise AmountError("Enter digits only, for example 120.50.", code="malformed")
    # No code at all: each of the service's currencies counts hundredths (docs/service.md: Units).
    exponent = exponents.get(code) if code else 2
    if exponent is None:
        raise AmountError(f"The decimals of {code} are not known.", code="currency", currency=code)
    whole, part = match["whole"], match["part"] or ""
    if len(part) > exponent:
        raise _too_many_decimals(whole, part, exponent, grouped=bool(grouped))
    return _minor_units(whole, part, exponent)


def _too_many_decimals(whole: str, part: str, exponent: int, *, grouped: bool) -> AmountError:
    """Return the error for a figure whose point may group, or for one with too many decimals."""
    like_a_group = _GROUP.fullmatch(f"{whole},{part}") and not grouped
    if like_a_group and not part[exponent:].strip("0"):
        one, other = f"{whole}.{part[:exponent]}".rstrip("."), f"{whole},{part}"
        return AmountError(
            f"{whole}.{part} can be read as {one} or as {other}. Enter one of them.",
            code="ambiguous",
            readings=(one, other),
        )
    return AmountError(
        f"The service takes at most {exponent} decimals.", code="decimals", exponent=exponent
    )


def _minor_units(whole: str, part: str, exponent: int) -> int:
    digits = (whole + part.ljust(exponent, "0")).lstrip("0")
    if not digits:
        raise AmountError("Enter an amount above zero.", code="zero")
    if len(digits) > len(str(MAX_AMOUNT)) or int(digits) > MAX_AMOUNT:
        raise AmountError("This amount is too large.", code="too_large")
    return int(digits)


def _normalise(text: str) -> str:
    text = drop_marks(text).translate(_ARABIC)
    return " ".join(text.replace(NO_BREAK_SPACE, " ").replace("\u202f", " ").split())


def _split_currency(figure: str, currency: str, exponents: Mapping[str, int]) -> tuple[str, str]:
    """Split a code or symbol from either end; return the figure and its currency.

    Refuse the sign of another currency than `currency`; `""` accepts any that is known.
    """
    signs = {**SYMBOLS, **{code: code for code in exponents}}
    for sign in sorted(signs, key=len, reverse=True):
        if figure[: len(sign)].upper() == sign:
            rest = figure[len(sign) :]
        elif figure[-len(sign) :].upper() == sign:
            rest = figure[: -len(sign)]
        else:
            continue
        if currency and signs[sign] != currency:
            raise AmountError(
                f"This page is paid in {currency}.", code="currency", currency=currency
            )
        return rest.strip(), signs[sign]
    if match := _CODE.search(figure.upper()):
        raise AmountError(f"{match[0]} is not a currency of this page.", code="currency")
    return figure, currency
