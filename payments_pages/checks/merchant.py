"""Checks of `MERCHANT`: what payers read about the merchant."""

import difflib
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name

from payments_pages.conf import conf, load_function
from payments_pages.exceptions import ConfigurationError
from payments_pages.merchant import (
    MERCHANT_KEYS,
    MERCHANT_TEXTS,
    PAGE_LANGUAGES,
    is_colour,
    is_safe_link,
)

__all__ = ["check_merchant", "check_merchant_languages"]


@register(Tags.compatibility)
def check_merchant(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E019: neither a text nor texts by language. E036: MERCHANT is no dict, or has an unknown key.

    E041: a malformed value of NEXT_URL, LOGO, COLOUR or RECEIPT.
    """
    merchant = conf.get("MERCHANT", {})
    if not isinstance(merchant, dict):
        hint = '"MERCHANT": {"NAME": "…", "CONTACT": "…"}'
        message = "PAYMENTS_PAGES['MERCHANT'] is not a dict."
        return [Error(message, hint=hint, id="payments_pages.E036")]
    return [*_unknown_keys(merchant), *_wrong_texts(merchant), *_wrong_values(merchant)]


def _unknown_keys(merchant: dict[object, object]) -> Iterator[CheckMessage]:
    for key in merchant:
        if key not in MERCHANT_KEYS:
            close = difflib.get_close_matches(str(key).upper(), MERCHANT_KEYS, n=1)
            known = f"Known: {', '.join(sorted(MERCHANT_KEYS))}."
            message = f"PAYMENTS_PAGES['MERCHANT'][{key!r}] is not a setting."
            hint = f"Did you mean {close[0]!r}?" if close else known
            yield Error(message, hint=hint, id="payments_pages.E036")


def _wrong_texts(merchant: dict[object, object]) -> Iterator[CheckMessage]:
    for key in MERCHANT_TEXTS:
        if not _is_text_by_language(merchant.get(key, "")):
            message = f"PAYMENTS_PAGES['MERCHANT'][{key!r}] is neither a text nor a dict of texts."
            hint = f'"{key}": "…", or {{"en": "…", "ar": "…"}}'
            yield Error(message, hint=hint, id="payments_pages.E019")


def _wrong_values(merchant: dict[object, object]) -> Iterator[CheckMessage]:
    rules = {
        "NEXT_URL": (
            _is_next_url,
            'a path or https address, or the function of a payment: "/purchases/", "shop.urls.next"',
        ),
        "LOGO": (_is_static_path, 'the path of a static file: "shop/logo.svg"'),
        "COLOUR": (is_colour, 'six hexadecimal digits: "#0b4f9e"'),
        "RECEIPT": (_is_bool, "True if the service mails a receipt, False if it does not"),
    }
    for key, (is_right, words) in rules.items():
        if key in merchant and not is_right(merchant[key]):
            message = f"PAYMENTS_PAGES['MERCHANT'][{key!r}] is malformed."
            yield Error(message, hint=f'"{key}": {words}', id="payments_pages.E041")


def _is_next_url(value: object) -> bool:
    if callable(value) or (isinstance(value, str) and is_safe_link(value)):
        return True
    try:
        load_function("NEXT_URL", str(value))
    except ConfigurationError:
        return False
    return True


def _is_static_path(value: object) -> bool:
    return isinstance(value, str) and bool(value) and not value.startswith("/") and ":" not in value


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_text_by_language(value: object) -> bool:
    if not isinstance(value, dict):
        return isinstance(value, str)
    return bool(value) and all(isinstance(text, str) for pair in value.items() for text in pair)


@register(Tags.translation)
def check_merchant_languages(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W023: a text for payers lacks one of the site's languages."""
    merchant = conf.get("MERCHANT", {})
    if not isinstance(merchant, dict) or not settings.USE_I18N:
        return []
    messages: list[CheckMessage] = []
    for key in MERCHANT_TEXTS:
        texts = merchant.get(key)
        if not isinstance(texts, dict) or not _is_text_by_language(texts):
            continue
        there = {code.split("-")[0] for code, text in texts.items() if text}
        missing = sorted({code.split("-")[0] for code, _name in settings.LANGUAGES} - there)
        lacking = [code for code in missing if code in PAGE_LANGUAGES]
        if lacking:
            message = (
                f"PAYMENTS_PAGES['MERCHANT'][{key!r}] has no text in {', '.join(lacking)}, "
                "in which payers read the other texts of the page."
            )
            hint = f'"{key}": {{…, "{lacking[0]}": "…"}}'
            messages.append(Warning(message, hint=hint, id="payments_pages.W023"))
    return messages
