"""Marks that do not show are dropped; what shows, and what blanks divide, stays."""

import unicodedata

import pytest

from payments_pages.marks import clean_pasted, drop_marks

MARKS = [
    "\u00ad", "\u034f", "\u061c", "\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f",
    "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2060", "\u2063", "\u2066", "\u2067",
    "\u2068", "\u2069", "\ufeff",
]  # fmt: skip


@pytest.mark.parametrize("mark", MARKS, ids=[f"U+{ord(mark):04X}" for mark in MARKS])
def test_each_mark_is_dropped_wherever_it_stands(mark: str) -> None:
    assert drop_marks(f"{mark}PPG{mark}-1{mark}") == "PPG-1"
    assert clean_pasted(f"{mark} \t{mark}PPG-1{mark}\u00a0{mark}") == "PPG-1"


def test_whatever_shows_stays() -> None:
    shown = [chr(code) for code in range(0x3000) if unicodedata.category(chr(code))[0] in "LNPS"]
    kept = "".join(character for character in shown if character not in MARKS)
    assert drop_marks(kept) == kept
    assert drop_marks("شاي \u05d0\u05b8 a b") == "شاي \u05d0\u05b8 a b"
