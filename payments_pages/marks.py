"""Marks that do not show, and how to drop them from what people paste.

Mail programs, chats and spreadsheets put them around a text, above all between right-to-left and
left-to-right writing. Whoever copies the text copies the marks (docs/cases.md D10).
"""

import re
from typing import Final

__all__ = ["clean_pasted", "drop_marks"]

# In this order: soft hyphen, grapheme joiner, Arabic letter mark, Mongolian vowel separator, zero
# width marks, embeddings and overrides, word joiner and invisible operators, isolates, the byte
# order mark, and the marks of interlinear notes.
_MARKS: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb]"
)


def drop_marks(text: str) -> str:
    """Return the text without marks that do not show; blanks stay."""
    return _MARKS.sub("", text)


def clean_pasted(text: str) -> str:
    """Return what a person pasted, without marks that do not show and without outer blanks.

    For references, slugs and e-mail addresses, which contain no such marks (our decision). What a
    payer's browser or the service sends is never changed in this way.
    """
    return drop_marks(text).strip()
