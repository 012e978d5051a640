"""Who paid, read from what the service said of the customer and the card: JSON of any shape."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = [
    "NAME_LENGTH",
    "PHONE_DIGITS",
    "brand_of",
    "card_of",
    "expiry_of",
    "full_name",
    "last_four",
    "payer_terms",
    "phone_end",
    "phone_of",
]

NAME_LENGTH: Final = 200
"""Characters of a name that are kept to be searched."""
PHONE_DIGITS: Final = 8
"""Last digits of a phone number that are kept to be searched (our decision).

With the country's code and without it a number ends the same: `+970 59 123 4567`, `059 123 4567`.
"""
_LAST4: Final = 4


def payer_terms(customer: Any, authorization: Any) -> dict[str, str]:
    """Return what staff may search a payment by, as the columns of `Transaction` that hold it.

    Each is `""` if the service did not say it, or said something else than a name, four digits of
    a card or a phone number.
    """
    last4 = "".join(_digits_of(last_four(authorization)))
    return {
        "customer_name": _one_line(full_name(customer)),
        "customer_last_name": _one_line(_text_of(customer, "last_name")),
        "customer_phone_end": phone_end(phone_of(customer)),
        "card_last4": last4 if len(last4) == _LAST4 else "",
    }


def phone_end(text: str) -> str:
    """Return the last digits of a phone number, as 0-9; `""` if it has too few of them."""
    digits = "".join(_digits_of(text))
    return digits[-PHONE_DIGITS:] if len(digits) >= PHONE_DIGITS else ""


def full_name(customer: Any) -> str:
    """Return the first and last name; `""` if the service named neither."""
    names = (_text_of(customer, "first_name"), _text_of(customer, "last_name"))
    return " ".join(filter(None, names))


def phone_of(customer: Any) -> str:
    """Return the phone number as it came; a number counts as text."""
    return _text_of(customer, "phone")


def card_of(authorization: Any) -> str:
    """Return brand and last four digits, such as `visa •••• 4081`; `""` if neither is known."""
    last4 = last_four(authorization)
    return " ".join(filter(None, (brand_of(authorization), f"•••• {last4}" if last4 else "")))


def brand_of(authorization: Any) -> str:
    """Return the card's brand, such as `visa`; `""` if it is not known."""
    brand = _text_of(authorization, "brand") or _text_of(authorization, "card_type")
    return brand.strip()


def expiry_of(authorization: Any) -> tuple[str, str]:
    """Return the card's month and year of expiry, in 2 and up to 4 digits; `""` for what is no such."""
    month, year = _text_of(authorization, "exp_month"), _text_of(authorization, "exp_year")
    return (
        month.zfill(2) if _is_number(month, 2) else "",
        year if _is_number(year, 4) else "",
    )


def last_four(authorization: Any) -> str:
    """Return the card's last four digits as they came; `""` if they are not known."""
    return _text_of(authorization, "last4")


def _text_of(source: Any, key: str) -> str:
    value = source.get(key) if isinstance(source, Mapping) else None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _is_number(text: str, longest: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= longest


def _one_line(text: str) -> str:
    return " ".join(text.split())[:NAME_LENGTH].rstrip()


def _digits_of(text: str) -> list[str]:
    """Return the decimal digits of any script, as 0-9."""
    return [str(int(character)) for character in text if character.isdecimal()]
