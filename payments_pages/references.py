"""References: which texts are accepted, and the key under which they are stored."""

import hashlib
import re
from typing import Final

from payments_pages.conf import conf
from payments_pages.exceptions import InvalidReference

__all__ = ["LONGEST", "check_reference", "reference_key", "text_key"]

LONGEST: Final = 128
"""Characters of the columns for a reference."""


# NUL and half a surrogate pair are refused by drivers and databases, each with an error of its
# own; the other control characters would break lines of logs, commands and messages.
_UNUSABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_reference(text: str) -> str:
    """Return the reference, or raise `InvalidReference` before anything is asked or stored.

    The pattern is `REFERENCE_PATTERN`. Always refused are `.` and `..`, which
    change the verify path and cannot be quoted (docs/cases.md C11); more than `LONGEST` characters;
    control characters and lone surrogates, which no database stores or no driver sends.
    """
    if text in {"", ".", ".."} or len(text) > LONGEST or _UNUSABLE.search(text):
        raise InvalidReference("This is not a payment reference.")
    if conf.reference_pattern.fullmatch(text) is None:
        raise InvalidReference("This is not a payment reference.")
    return text


def reference_key(reference: str) -> str:
    """Return the 64 hex digits that are unique for a reference in this site's mode.

    A reference is unique per integration and per mode (docs/service.md, only seen), so a test payment can
    never stand in the way of a live one.
    """
    return text_key(conf.mode, reference)


def text_key(*parts: str) -> str:
    """Hash texts into 64 hex digits that no collation can fold together.

    MariaDB's and MySQL's default collations take `abc-1`, `ABC-1` and `abc-1 ` for one value
    (docs/cases.md C52): with a unique key on the text, a second payment would look like the first.
    """
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
