"""What staff search a payer by is read from JSON of any shape."""

from typing import Any

import pytest

from payments_pages.client import payer_terms, phone_end


def terms(customer: Any = None, authorization: Any = None) -> tuple[str, ...]:
    return tuple(payer_terms(customer, authorization).values())


def test_a_payer_is_known_by_name_last_name_phone_and_card() -> None:
    customer = {"first_name": " Noor ", "last_name": "al\n Haddad", "phone": "+970 59 123-4567"}
    assert payer_terms(customer, {"last4": "4081"}) == {
        "customer_name": "Noor al Haddad",
        "customer_last_name": "al Haddad",
        "customer_phone_end": "91234567",
        "card_last4": "4081",
    }


@pytest.mark.parametrize(
    "nonsense", [None, [], "x", {}, {"first_name": None, "last_name": ["x"], "phone": {}}]
)
def test_whatever_is_no_name_no_phone_and_no_card_is_left_out(nonsense: Any) -> None:
    assert terms(nonsense, nonsense) == ("", "", "", "")


@pytest.mark.parametrize("last4", ["", "408", "40811", "abcd", True, None, {"x": 1}])
def test_a_cards_last_four_are_four_digits(last4: Any) -> None:
    assert terms(None, {"last4": last4})[-1] == ""


@pytest.mark.parametrize("last4", ["4081", 4081, "٤٠٨١", "•••• 4081"])
def test_they_may_come_as_a_number_or_in_other_digits(last4: Any) -> None:
    assert terms(None, {"last4": last4})[-1] == "4081"


@pytest.mark.parametrize(
    "phone",
    [
        "+970591234567",
        "0591234567",
        "059-123 4567",
        "(059) 1234567",
        "٠٥٩١٢٣٤٥٦٧",
        "00970591234567",
    ],
)
def test_a_phone_ends_the_same_with_and_without_its_countrys_code(phone: str) -> None:
    assert phone_end(phone) == "91234567"


@pytest.mark.parametrize("phone", ["", "1234567", "call me"])
def test_a_short_number_is_none(phone: str) -> None:
    assert phone_end(phone) == ""


def test_a_long_name_is_cut_to_its_column() -> None:
    name, last_name, *_rest = terms({"first_name": "x" * 150, "last_name": "y" * 300})
    assert (len(name), len(last_name)) == (200, 200)
