"""Find wrong settings before a payer does. One function a theme; no check asks the database.

Ids are never reused. Each hint holds what to write.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name
from django.urls import NoReverseMatch, Resolver404, reverse
from django.utils.module_loading import import_string

from payments_pages.attribution import STEPS
from payments_pages.choices import Mode
from payments_pages.conf import KEYS, conf

__all__ = [
    "check_addresses",
    "check_database",
    "check_handler",
    "check_keys",
    "check_mode",
    "check_numbers",
    "check_patterns",
    "check_urls",
]

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_POSITIVE = ("CONNECT_TIMEOUT", "READ_TIMEOUT", "DEADLINE", "LEASE", "BACKOFF", "MAX_ATTEMPTS")

Configs = Sequence[AppConfig] | None


def _error(message: str, hint: str, number: int) -> Error:
    return Error(message, hint=hint, id=f"payments_pages.E{number:03}")


def _warning(message: str, hint: str, number: int) -> Warning:
    return Warning(message, hint=hint, id=f"payments_pages.W{number:03}")


@register(Tags.compatibility)
def check_keys(app_configs: Configs, **_kwargs: Any) -> list[CheckMessage]:
    """E001: required keys. E002: keys nobody knows. E003: the dict itself."""
    found = getattr(settings, "PAYMENTS_PAGES", {})
    if not isinstance(found, dict):
        return [_error("PAYMENTS_PAGES is not a dict.", "PAYMENTS_PAGES = {…}", 3)]
    messages: list[CheckMessage] = [
        _error(f"PAYMENTS_PAGES[{key!r}] is missing.", hint, 1)
        for key, hint in _REQUIRED.items()
        if found.get(key) in (None, "") and not (key == "SECRET_KEY" and callable(found.get(key)))
    ]
    for key in found:
        if key not in KEYS:
            close = difflib.get_close_matches(str(key).upper(), KEYS, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(sorted(KEYS))}."
            messages.append(_error(f"PAYMENTS_PAGES[{key!r}] is not a setting.", hint, 2))
    return messages


_REQUIRED = {
    "SECRET_KEY": '"SECRET_KEY": env("PAYMENTS_PAGES_SECRET_KEY")',
    "BASE_URL": '"BASE_URL": the address of the service\'s API, from its documentation',
    "PAY_URL": '"PAY_URL": the address under which the service shows pages',
    "HANDLER": '"HANDLER": "shop.handlers.deliver"',
}


@register(Tags.security)
def check_addresses(app_configs: Configs, **_kwargs: Any) -> list[CheckMessage]:
    """E004: https, or http on loopback only. W001: a sandbox's address in production."""
    messages: list[CheckMessage] = []
    for key in ("BASE_URL", "PAY_URL", "SITE_URL"):
        address = conf.get(key)
        if address in (None, ""):
            continue
        if not _is_safe(str(address)):
            hint = f'"{key}": "https://…" (http only on this machine itself)'
            messages.append(_error(f"PAYMENTS_PAGES[{key!r}] is not a safe address.", hint, 4))
    base = str(conf.get("BASE_URL", ""))
    if _is_safe(base) and urlsplit(base).hostname in _LOOPBACK and _is_live():
        hint = '"BASE_URL": the address of the service\'s API, from its documentation'
        messages.append(_warning("A live key is used with a sandbox's address.", hint, 1))
    return messages


def _is_safe(address: str) -> bool:
    try:
        parts = urlsplit(address)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or parts.username or parts.password or parts.query or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)


@register(Tags.compatibility)
def check_mode(app_configs: Configs, **_kwargs: Any) -> list[CheckMessage]:
    """E005: mode unknown. E006: mode against the key. W002: a test key with DEBUG off."""
    key = conf.get("SECRET_KEY")
    if callable(key):
        # Not called: a check asks no vault. Its prefix cannot tell the mode at start-up.
        return []
    mode, prefix = conf.get("MODE"), _prefix(key)
    if mode is not None and mode not in Mode.values:
        return [_error('PAYMENTS_PAGES["MODE"] must be "test" or "live".', '"MODE": "live"', 5)]
    if mode is None and prefix is None and key:
        hint = '"MODE": "test" or "live"'
        return [_error("Neither MODE nor the key's prefix says whether money is real.", hint, 5)]
    if mode is not None and prefix is not None and mode != prefix:
        hint = f'"MODE": "{prefix}", or leave it out'
        return [_error("MODE contradicts the key's prefix.", hint, 6)]
    if (mode or prefix) == Mode.TEST and not settings.DEBUG:
        hint = "Use a live key in production; with a test key no money moves."
        return [_warning("A test key is used with DEBUG off.", hint, 2)]
    return []


def _prefix(key: object) -> str | None:
    text = key.strip() if isinstance(key, str) else ""
    return next((str(mode) for mode in Mode if text.startswith(f"sk_{mode}_")), None)


def _is_live() -> bool:
    return (conf.get("MODE") or _prefix(conf.get("SECRET_KEY"))) == Mode.LIVE


@register(Tags.compatibility)
def check_handler(app_configs: Configs, **_kwargs: Any) -> list[CheckMessage]:
    """E007: the handler does not import. E008: it is not callable."""
    path = conf.get("HANDLER")
    if not path:
        return []
    try:
        handler = import_string(str(path))
    except ImportError as error:
        hint = '"HANDLER": "shop.handlers.deliver", a module and a function in it'
        return [_error(f"PAYMENTS_PAGES['HANDLER'] cannot be imported: {error}", hint, 7)]
    if not callable(handler):
        hint = "def deliver(fulfilment): …"
        return [_error("PAYMENTS_PAGES['HANDLER'] is not callable.", hint, 8)]
    return []


@register(Tags.compatibility)
def check_numbers(app_configs: Configs, **_kwargs: Any) -> list[CheckMessage]:
    """E009: times and counts above zero. E010: currencies' decimals are small whole numbers."""
    messages: list[CheckMessage] = [
        _error(f"PAYMENTS_PAGES[{key!r}] must be a number above zero.", f'"{key}": 10', 9)
        for key in _POSITIVE
        if (value := conf.get(key)) is not None and not _is_positive(value)
    ]
    currencies = conf.get("CURRENCIES", {})
    if not isinstance(currencies, dict) or not all(map(_is_exponent, currencies.items())):
        hint = '"CURRENCIES": {"EGP": 2}: decimals as this service counts them, not ISO 4217'
        messages.append(_error("PAYMENTS_PAGES['CURRENCIES'] is malformed.", hint, 10))
    return messages


def _is_positive(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and value > 0


def _is_exponent(item: tuple[object, object]) -> bool:
    code, exponent = item
    known = isinstance(code, str) and re.fullmatch(r"[A-Z]{3}", code) is not None
    return known and type(exponent) is int and 0 <= exponent <= 4


@register(Tags.compatibility)
def check_patterns(app_configs: Configs, **_kwargs: Any) -> list[CheckMessage]:
    """E011: reference pattern. E012: reference parameters. E013: attribution. E014: statuses."""
    messages: list[CheckMessage] = []
    pattern = conf.get("REFERENCE_PATTERN")
    if pattern is not None and not _compiles(pattern):
        hint = r'"REFERENCE_PATTERN": r"[A-Za-z0-9._=-]{1,128}"'
        messages.append(_error("PAYMENTS_PAGES['REFERENCE_PATTERN'] is no pattern.", hint, 11))
    if not _is_texts(conf.get("REFERENCE_PARAMS", ("reference",))):
        hint = '"REFERENCE_PARAMS": ("reference", "trxref")'
        messages.append(_error("PAYMENTS_PAGES['REFERENCE_PARAMS'] is malformed.", hint, 12))
    steps = conf.get("ATTRIBUTION", ("expected",))
    if not _is_texts(steps) or not set(steps) <= set(STEPS):
        hint = f'"ATTRIBUTION": some of {", ".join(STEPS)}, in order'
        messages.append(_error("PAYMENTS_PAGES['ATTRIBUTION'] names an unknown step.", hint, 13))
    statuses = conf.get("UNKNOWN_STATUSES", (404,))
    if not isinstance(statuses, list | tuple | set) or not set(statuses) <= {400, 404, 422}:
        hint = '"UNKNOWN_STATUSES": (404,), or (400, 404)'
        messages.append(_error("PAYMENTS_PAGES['UNKNOWN_STATUSES'] is malformed.", hint, 14))
    return messages


def _compiles(pattern: object) -> bool:
    try:
        re.compile(str(pattern))
    except re.error:
        return False
    return isinstance(pattern, str)


def _is_texts(value: object) -> bool:
    is_sequence = isinstance(value, list | tuple) and bool(value)
    return is_sequence and all(isinstance(item, str) and item for item in _items(value))


def _items(value: object) -> Iterable[object]:
    return value if isinstance(value, list | tuple) else ()


@register(Tags.urls)
def check_urls(app_configs: Configs, **_kwargs: Any) -> list[CheckMessage]:
    """E015: our URLs are not included. E016: the result view does not exist."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []  # a worker or script that serves nothing
    token = "00000000-0000-4000-8000-000000000000"  # noqa: S105 - not a secret
    tests: tuple[tuple[Callable[[], str], str, str, int], ...] = (
        (
            lambda: reverse("payments_pages:callback"),
            "The URLs of payments_pages are not included.",
            'path("payments/", include("payments_pages.urls"))',
            15,
        ),
        (
            lambda: reverse(conf.result_view, kwargs={"token": token}),
            "PAYMENTS_PAGES['RESULT_VIEW'] names no view that takes a token.",
            '"RESULT_VIEW": "payments_pages:result"',
            16,
        ),
    )
    for ask, message, hint, number in tests:
        try:
            ask()
        except (NoReverseMatch, Resolver404):
            return [_error(message, hint, number)]
    return []


@register(Tags.compatibility)
def check_database(app_configs: Configs, **_kwargs: Any) -> list[CheckMessage]:
    """W003: SQLite without IMMEDIATE transactions. Reads settings only."""
    messages: list[CheckMessage] = []
    for alias, database in settings.DATABASES.items():
        sqlite = str(database.get("ENGINE", "")).endswith("sqlite3")
        mode = str(database.get("OPTIONS", {}).get("transaction_mode", "")).upper()
        if sqlite and mode not in {"IMMEDIATE", "EXCLUSIVE"}:
            hint = f'DATABASES[{alias!r}]["OPTIONS"] = {{"transaction_mode": "IMMEDIATE", "timeout": 20}}'
            message = f"SQLite database {alias!r} starts transactions that fail when others write."
            messages.append(_warning(message, hint, 3))
    return messages
