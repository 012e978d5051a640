"""Counts as commands print them: a number with its noun."""

__all__ = ["counted"]


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun: "1 page", "4 pages"; `nouns` is a plural not made by an "s"."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
