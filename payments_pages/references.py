"""Check what came as a reference, and make the key it is stored under."""

from payments_pages.conf import conf
from payments_pages.databases import text_key
from payments_pages.exceptions import InvalidReference

__all__ = ["check_reference", "reference_key"]


def check_reference(text: str) -> str:
    """Return the reference, or raise `InvalidReference` before anything is asked or stored.

    The pattern is `REFERENCE_PATTERN`; `.` and `..` are refused whatever it says, for they
    walk out of the verify path and cannot be quoted (case C11).
    """
    if text in {"", ".", ".."} or conf.reference_pattern.fullmatch(text) is None:
        raise InvalidReference("This is not a payment reference.")
    return text


def reference_key(reference: str) -> str:
    """Return the 64 hex digits that are unique for a reference in this site's mode.

    A reference is unique per integration and per mode (known fact), so a test payment can
    never stand in the way of a live one.
    """
    return text_key(conf.mode, reference)
