"""Know what a slug may be: the interface gives no rule, so only what is surely safe is taken."""

import re
import secrets
import string
from typing import Final

from django.utils.translation import gettext as _

from payments_pages.conf import conf
from payments_pages.exceptions import PageError
from payments_pages.references import text_key

__all__ = ["MAX_SLUG", "check_slug_text", "make_slug", "slug_key"]

MAX_SLUG: Final = 100
"""Longest slug that staff may choose, in characters (our decision)."""

# Latin letters, digits, "-" and "_" are in every slug seen; one made of digits alone could be
# taken for a page's number in the same place of the path.
_SLUG = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_-]*", re.ASCII)
_RESERVED = frozenset({"check_slug_availability"})
_ALPHABET = string.ascii_letters + string.digits


def slug_key(slug: str, mode: str = "") -> str:
    """Return the collation-proof unique key of a slug in a mode; blank: this site's."""
    return text_key(mode or conf.mode, slug)


def check_slug_text(slug: str) -> str:
    """Return a slug that is safe in a path; raise `PageError` before any call (docs/cases.md C60)."""
    slug = slug.strip()
    if slug in _RESERVED or len(slug) > MAX_SLUG or _SLUG.fullmatch(slug) is None:
        message = _(
            "Use up to 100 Latin letters, digits, hyphens and underscores, with at least one letter."
        )
        raise PageError(message, field="slug")
    return slug


def make_slug() -> str:
    """Make up a slug of ten letters and digits; a letter first, so that it is no number."""
    return secrets.choice(string.ascii_letters) + "".join(
        secrets.choice(_ALPHABET) for _position in range(9)
    )
