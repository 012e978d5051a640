"""Checks of numbers and patterns in the settings."""

import math
import re
from collections.abc import Mapping
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register

from payments_pages.conf import conf
from payments_pages.confirmation import STEPS

__all__ = ["check_numbers", "check_patterns", "is_texts"]

_POSITIVE = (
    "CONNECT_TIMEOUT",
    "READ_TIMEOUT",
    "DEADLINE",
    "LEASE",
    "BACKOFF",
    "MAX_ATTEMPTS",
    "MAX_CALLS",
    "OVERDUE",
    "UNKNOWN_IN_ALL",
    "UNKNOWN_PER_ADDRESS",
)


@register(Tags.compatibility)
def check_numbers(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E009: a time or count is not above zero, or infinite. E010: malformed decimals of a currency. E039: RESULT_CSP is no bool."""
    messages: list[CheckMessage] = [
        Error(
            f"PAYMENTS_PAGES[{key!r}] must be a finite number above zero.",
            hint=f'"{key}": 10',
            id="payments_pages.E009",
        )
        for key in _POSITIVE
        if (value := conf.get(key)) is not None and not _is_positive(value)
    ]
    if not isinstance(conf.get("RESULT_CSP", True), bool):
        message = "PAYMENTS_PAGES['RESULT_CSP'] is neither True nor False."
        hint = '"RESULT_CSP": False, to leave the policy of payers\' pages to the site'
        messages.append(Error(message, hint=hint, id="payments_pages.E039"))
    currencies = conf.get("CURRENCIES", {})
    if not isinstance(currencies, Mapping) or not all(map(_is_exponent, currencies.items())):
        hint = '"CURRENCIES": {"EGP": 2}: decimals as this service counts them, not ISO 4217'
        messages.append(
            Error("PAYMENTS_PAGES['CURRENCIES'] is malformed.", hint=hint, id="payments_pages.E010")
        )
    return messages


def _is_positive(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 < value < math.inf


def _is_exponent(item: tuple[object, object]) -> bool:
    code, exponent = item
    known = isinstance(code, str) and re.fullmatch(r"[A-Z]{3}", code) is not None
    return known and type(exponent) is int and 0 <= exponent <= 4


@register(Tags.compatibility)
def check_patterns(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E011 to E014: malformed reference pattern, reference parameters, attribution, statuses."""
    messages: list[CheckMessage] = []
    pattern = conf.get("REFERENCE_PATTERN")
    if pattern is not None and not _compiles(pattern):
        hint = r'"REFERENCE_PATTERN": r"[A-Za-z0-9._=-]{1,128}"'
        messages.append(
            Error(
                "PAYMENTS_PAGES['REFERENCE_PATTERN'] is no regular expression.",
                hint=hint,
                id="payments_pages.E011",
            )
        )
    if not is_texts(conf.get("REFERENCE_PARAMS", ("reference",))):
        hint = '"REFERENCE_PARAMS": ("reference", "trxref")'
        messages.append(
            Error(
                "PAYMENTS_PAGES['REFERENCE_PARAMS'] is malformed.",
                hint=hint,
                id="payments_pages.E012",
            )
        )
    steps = conf.get("ATTRIBUTION", ("expected",))
    if not is_texts(steps) or not set(steps) <= set(STEPS):
        hint = f'"ATTRIBUTION": some of {", ".join(STEPS)}, in order'
        messages.append(
            Error(
                "PAYMENTS_PAGES['ATTRIBUTION'] names an unknown step.",
                hint=hint,
                id="payments_pages.E013",
            )
        )
    statuses = conf.get("UNKNOWN_STATUSES", (404,))
    if not isinstance(statuses, list | tuple | set) or not set(statuses) <= {400, 404, 422}:
        hint = '"UNKNOWN_STATUSES": (404,), or (400, 404)'
        messages.append(
            Error(
                "PAYMENTS_PAGES['UNKNOWN_STATUSES'] is malformed.",
                hint=hint,
                id="payments_pages.E014",
            )
        )
    return messages


def is_texts(value: object) -> bool:
    """Tell whether a value is a list or tuple of texts, none of them blank."""
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(item, str) and item for item in value)


def _compiles(pattern: object) -> bool:
    try:
        re.compile(str(pattern))
    except re.error:
        return False
    return isinstance(pattern, str)
