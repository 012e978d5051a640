"""The keys of the setting `MERCHANT`, and what their values may be."""

import re
from typing import Final
from urllib.parse import urlsplit

__all__ = ["MERCHANT_KEYS", "MERCHANT_TEXTS", "PAGE_LANGUAGES", "is_colour", "is_safe_link"]

MERCHANT_TEXTS: Final = ("NAME", "CONTACT", "NEXT_STEPS", "NEXT_LABEL")
"""Keys whose value is a text for payers, or a dict of texts by language."""
MERCHANT_KEYS: Final = (*MERCHANT_TEXTS, "NEXT_URL", "LOGO", "COLOUR", "RECEIPT")
"""All keys."""
PAGE_LANGUAGES: Final = ("en", "ar", "he")
"""The languages that our pages for payers are written in."""

_COLOUR: Final = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)


def is_colour(value: object) -> bool:
    """Tell whether a value is a colour as `#0b4f9e`."""
    return isinstance(value, str) and _COLOUR.fullmatch(value) is not None


def is_safe_link(url: object) -> bool:
    """Tell whether payers can be given a link: a path of this site, or an http or https URL.

    Closed by default: no `javascript:`, no `//host`, nothing that does not print.
    """
    if not isinstance(url, str) or not url.isprintable() or "\\" in url or " " in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme in {"http", "https"}:
        return bool(parts.hostname)
    # Browsers read `///host` as they read `//host`, in which `urlsplit` sees a host.
    return not parts.scheme and url.startswith("/") and not url.startswith("//")
