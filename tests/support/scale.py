"""Say whether this is the long leg: `TESTS_LONG=1` asks for the full numbers."""

import os

LONG = os.environ.get("TESTS_LONG") == "1"


def count(usual: int, long: int) -> int:
    """Choose how much of something a test does."""
    return long if LONG else usual
