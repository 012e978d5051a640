"""Say whether this is the long leg: `TESTS_LONG=1` asks for the full numbers."""

import os
from collections.abc import Sequence
from typing import TypeVar

Value = TypeVar("Value")

LONG = os.environ.get("TESTS_LONG") == "1"


def count(usual: int, long: int) -> int:
    """Choose how much of something a test does."""
    return long if LONG else usual


def chosen(everything: Sequence[Value], *usual: Value) -> Sequence[Value]:
    """Choose which values a test tries: all of them in the long leg.

    The usual ones are of `everything`, so that the long leg leaves none of them out.
    """
    assert set(usual) <= set(everything)
    return everything if LONG else usual


def spread(everything: Sequence[Value], most: int) -> list[Value]:
    """Return `most` of them at even distances, the first and the last among them; or all."""
    if len(everything) <= most:
        return list(everything)
    last, gaps = len(everything) - 1, max(most - 1, 1)
    return [everything[round(number * last / gaps)] for number in range(most)]
