"""Check and make slugs. The interface gives no rule, so only safe characters are accepted."""

import re
import secrets
import string
import unicodedata
from typing import Final

from django.utils.translation import gettext as _

from payments_pages.conf import conf
from payments_pages.exceptions import PageError
from payments_pages.marks import clean_pasted
from payments_pages.references import text_key

__all__ = ["MAX_SLUG", "check_slug_text", "make_slug", "slug_key", "slug_of_name"]

MAX_SLUG: Final = 100
"""The most characters of a slug that staff may choose (our decision)."""

# Every slug we have seen has only Latin letters, digits, "-" and "_". The service's path accepts
# a slug or a page's number, so a slug of digits alone could be read as a number.
_SLUG = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_-]*", re.ASCII)
_RESERVED = frozenset({"check_slug_availability"})
_MAX_OF_NAME: Final = 60
_COMBINING = re.compile(r"[\u0300-\u036f]")
_NOT_LATIN = re.compile(r"[^\u0000-\u024f\u2000-\u206f]")
_ALPHABET = string.ascii_letters + string.digits


def slug_key(slug: str, mode: str = "") -> str:
    """Return the unique key of a slug in a mode, the same under every collation.

    A blank `mode` is this site's.
    """
    return text_key(mode or conf.mode, slug)


def check_slug_text(slug: str) -> str:
    """Return the slug as `clean_pasted` leaves it; raise `PageError` if it is not safe in a path.

    No call is made (docs/cases.md C60).
    """
    slug = clean_pasted(slug)
    if slug in _RESERVED or len(slug) > MAX_SLUG or _SLUG.fullmatch(slug) is None:
        message = _(
            "Use up to 100 Latin letters, digits, hyphens and underscores, with at least one letter."
        )
        raise PageError(message, field="slug")
    return slug


def make_slug() -> str:
    """Return a random slug of ten letters and digits; the first is a letter, so it is no number."""
    return secrets.choice(string.ascii_letters) + "".join(
        secrets.choice(_ALPHABET) for _position in range(9)
    )


def slug_of_name(name: str) -> str:
    """Return a slug made of a Latin name, `creme-brulee` of "Crème brûlée"; "" if there is none.

    A name in another script has no Latin slug that everybody would read alike. `slug.js` makes the
    same while the name is typed.
    """
    plain = _COMBINING.sub("", unicodedata.normalize("NFKD", name)).lower()
    if _NOT_LATIN.search(plain):
        return ""
    words = re.sub(r"[^a-z0-9]+", "-", re.sub(r"['\u2019]", "", plain))
    slug = words[:_MAX_OF_NAME].strip("-")
    return slug if re.search(r"[a-z]", slug) else ""
