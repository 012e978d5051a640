"""Read ids that come in as text: from a URL, a form, or a payer's metadata."""

from typing import Final

__all__ = ["parse_id"]

_DIGITS: Final = 18
"""Numbers of so many digits always fit the 64 bits of a column; no id has been seen with more."""


def parse_id(text: str) -> int | None:
    """Return the id, not negative; None if the text is anything else or may not fit 64 bits.

    Whoever writes the text may write any number of digits, and Python refuses to read more than
    4,300 of them, so the length is checked first.
    """
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        return int(text)
    return None
