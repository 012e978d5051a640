"""Checks of the keys of the settings: required, known, and in agreement; mode and handler."""

import difflib
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name
from django.utils.module_loading import import_string

from payments_pages.choices import Mode
from payments_pages.conf import KEYS, conf
from payments_pages.confirmation import PLAIN_FUNCTION, is_unfinished, takes_one_argument
from payments_pages.presets import PRESETS

__all__ = ["check_handler", "check_keys", "check_mode", "check_service", "check_test_key"]


@register(Tags.compatibility)
def check_keys(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E001: a required key is missing. E002: an unknown key. E003: the settings are no dict."""
    found = getattr(settings, "PAYMENTS_PAGES", {})
    if not isinstance(found, dict):
        return [
            Error(
                "PAYMENTS_PAGES is not a dict.",
                hint="PAYMENTS_PAGES = {…}",
                id="payments_pages.E003",
            )
        ]
    messages: list[CheckMessage] = [
        Error(f"PAYMENTS_PAGES[{key!r}] is missing.", hint=hint, id="payments_pages.E001")
        for key, hint in _REQUIRED.items()
        if conf.get(key) in (None, "")
    ]
    for key in found:
        if key not in KEYS:
            close = difflib.get_close_matches(str(key).upper(), KEYS, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(sorted(KEYS))}."
            messages.append(
                Error(
                    f"PAYMENTS_PAGES[{key!r}] is not a setting.",
                    hint=hint,
                    id="payments_pages.E002",
                )
            )
    return messages


_SERVICES = ", ".join(f'"{name}"' for name in PRESETS)
_REQUIRED = {
    "SECRET_KEY": '"SECRET_KEY": os.environ["PAYMENTS_PAGES_SECRET_KEY"]',
    "BASE_URL": f'"SERVICE": one of {_SERVICES}; or "BASE_URL": the address of the service\'s API',
    "PAY_URL": '"SERVICE" as for BASE_URL; or "PAY_URL": where the service shows pages',
    "HANDLER": '"HANDLER": "shop.handlers.deliver"',
}


@register(Tags.compatibility)
def check_service(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E035: SERVICE names no preset."""
    name = conf.get("SERVICE")
    if name is None or (isinstance(name, str) and name in PRESETS):
        return []
    close = difflib.get_close_matches(str(name).lower(), PRESETS, n=1)
    meant = f"Did you mean {close[0]!r}? " if close else ""
    hint = f'{meant}"SERVICE": one of {_SERVICES}; or set BASE_URL and PAY_URL yourself'
    message = f"PAYMENTS_PAGES['SERVICE'] names no service that is known here: {name!r}."
    return [Error(message, hint=hint, id="payments_pages.E035")]


@register(Tags.compatibility)
def check_mode(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E005: unknown mode. E042: the public key in place of the secret one. E006: MODE contradicts the key. W007: MODE is not set and the key is a callable."""
    key = conf.get("SECRET_KEY")
    mode, prefix = conf.get("MODE"), _prefix(key)
    if mode is not None and mode not in Mode.values:
        return [
            Error(
                'PAYMENTS_PAGES["MODE"] must be "test" or "live".',
                hint='"MODE": "live"',
                id="payments_pages.E005",
            )
        ]
    if callable(key):
        # Checks call no vault, so the key's prefix is not known.
        return (
            []
            if mode
            else [Warning(_MODE_IN_A_VAULT, hint='"MODE": "live"', id="payments_pages.W007")]
        )
    if _is_public(key):
        hint = '"SECRET_KEY": the one that begins with sk_test_ or sk_live_'
        message = (
            "PAYMENTS_PAGES['SECRET_KEY'] is the public key, by which nothing can be verified."
        )
        return [Error(message, hint=hint, id="payments_pages.E042")]
    if mode is None and prefix is None and key:
        hint = '"MODE": "test" or "live"'
        return [
            Error(
                "Neither MODE nor the key's prefix says whether this is test or live mode.",
                hint=hint,
                id="payments_pages.E005",
            )
        ]
    if mode is not None and prefix is not None and mode != prefix:
        hint = f'"MODE": "{prefix}", or leave it out'
        return [Error("MODE contradicts the key's prefix.", hint=hint, id="payments_pages.E006")]
    return []


@register(Tags.security, deploy=True)
def check_test_key(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W002: a test key with DEBUG off."""
    mode = conf.get("MODE") or _prefix(conf.get("SECRET_KEY"))
    if mode != Mode.TEST or settings.DEBUG:
        return []
    hint = "Use a live key in production; with a test key no money moves."
    return [Warning("A test key is used with DEBUG off.", hint=hint, id="payments_pages.W002")]


_MODE_IN_A_VAULT = (
    "SECRET_KEY is a callable and MODE is not set: the callable is called for every reference, and "
    "while it fails no reference can be saved for the sweep."
)


def _is_public(key: object) -> bool:
    return isinstance(key, str) and key.strip().startswith("pk_")


def _prefix(key: object) -> str | None:
    text = key.strip() if isinstance(key, str) else ""
    return next((str(mode) for mode in Mode if text.startswith(f"sk_{mode}_")), None)


@register(Tags.compatibility)
def check_handler(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E007: the handler cannot be imported. E008: it cannot deliver. E030: it decorates a function that cannot."""
    path = conf.get("HANDLER")
    if not path:
        return []
    try:
        handler = import_string(str(path))
    except ImportError as failure:
        hint = '"HANDLER": "shop.handlers.deliver", a module and a function in it'
        return [
            Error(
                f"PAYMENTS_PAGES['HANDLER'] cannot be imported: {failure}",
                hint=hint,
                id="payments_pages.E007",
            )
        ]
    complaint = _handler_complaint(handler)
    if complaint:
        hint = f"To deliver, {PLAIN_FUNCTION}."
        return [
            Error(f"PAYMENTS_PAGES['HANDLER'] {complaint}", hint=hint, id="payments_pages.E008")
        ]
    if is_unfinished(handler, wrapped=True):
        hint = (
            f"To deliver, {PLAIN_FUNCTION}. If the decorator runs it to its end, set "
            'SILENCED_SYSTEM_CHECKS = ["payments_pages.E030"]'
        )
        return [Error(_DECORATED, hint=hint, id="payments_pages.E030")]
    return []


_DECORATED = (
    "PAYMENTS_PAGES['HANDLER'] decorates a coroutine or generator function: unless the decorator "
    "runs it to its end, nothing is delivered."
)


def _handler_complaint(handler: object) -> str:
    if not callable(handler):
        return "is not callable."
    if is_unfinished(handler):
        return "is a coroutine or generator function: a call does not run it."
    return "" if takes_one_argument(handler) else "cannot be called with one argument."
