"""Checks of numbers, patterns and texts in the settings, and of the database's settings."""

import re
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name

from payments_pages.conf import conf
from payments_pages.confirmation import STEPS

__all__ = ["check_database", "check_numbers", "check_patterns", "check_texts", "is_texts"]

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
_TEXTS = ("MERCHANT_NAME", "MERCHANT_CONTACT", "WHAT_HAPPENS_NEXT")


@register(Tags.compatibility)
def check_numbers(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E009: a time or count is not above zero. E010: the decimals of a currency are malformed."""
    messages: list[CheckMessage] = [
        Error(
            f"PAYMENTS_PAGES[{key!r}] must be a number above zero.",
            hint=f'"{key}": 10',
            id="payments_pages.E009",
        )
        for key in _POSITIVE
        if (value := conf.get(key)) is not None and not _is_positive(value)
    ]
    currencies = conf.get("CURRENCIES", {})
    if not isinstance(currencies, dict) or not all(map(_is_exponent, currencies.items())):
        hint = '"CURRENCIES": {"EGP": 2}: decimals as this service counts them, not ISO 4217'
        messages.append(
            Error("PAYMENTS_PAGES['CURRENCIES'] is malformed.", hint=hint, id="payments_pages.E010")
        )
    return messages


def _is_positive(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and value > 0


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


@register(Tags.compatibility)
def check_texts(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E019: a text for payers is neither a text nor a dict of texts by language."""
    return [
        Error(
            f"PAYMENTS_PAGES[{key!r}] is neither a text nor a dict of texts.",
            hint=f'"{key}": "…", or {{"en": "…", "ar": "…"}}',
            id="payments_pages.E019",
        )
        for key in _TEXTS
        if not _is_text_by_language(conf.get(key, ""))
    ]


def _is_text_by_language(value: object) -> bool:
    if not isinstance(value, dict):
        return isinstance(value, str)
    return bool(value) and all(isinstance(text, str) for pair in value.items() for text in pair)


@register(Tags.compatibility)
def check_database(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W003: SQLite without IMMEDIATE transactions. E024: USE_TZ is off. Reads settings only."""
    messages: list[CheckMessage] = []
    if not settings.USE_TZ:
        message = "The service's times have time zones, which cannot be stored with USE_TZ off."
        messages.append(Error(message, hint="USE_TZ = True", id="payments_pages.E024"))
    for alias, database in settings.DATABASES.items():
        sqlite = str(database.get("ENGINE", "")).endswith("sqlite3")
        mode = str(database.get("OPTIONS", {}).get("transaction_mode", "")).upper()
        if sqlite and mode not in {"IMMEDIATE", "EXCLUSIVE"}:
            hint = f'DATABASES[{alias!r}]["OPTIONS"] = {{"transaction_mode": "IMMEDIATE", "timeout": 20}}'
            message = (
                f"SQLite database {alias!r} starts transactions that fail when another one writes."
            )
            messages.append(Warning(message, hint=hint, id="payments_pages.W003"))
    return messages
