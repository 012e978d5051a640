"""What an examination finds: whether all is right, what was seen, and what to do."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Health", "right", "unknown", "warning", "wrong"]


class Health(StrEnum):
    """Whether what was looked at is as it should be.

    `UNKNOWN`: it could not be looked at, because of something that another line tells, or because a
    setting is not used. Only `WRONG` is a fault.
    """

    RIGHT = "right"
    WARNING = "warning"
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one examination; sentences in English, without secrets and payers' data.

    `advice` says what to do; it is blank only if all is right.
    """

    health: Health
    seen: str
    advice: str = ""


def right(seen: str) -> Finding:
    """Return the finding that all is as it should be."""
    return Finding(Health.RIGHT, seen)


def warning(seen: str, advice: str) -> Finding:
    """Return the finding that payments are taken, and somebody should look."""
    return Finding(Health.WARNING, seen, advice)


def wrong(seen: str, advice: str) -> Finding:
    """Return the finding of a fault."""
    return Finding(Health.WRONG, seen, advice)


def unknown(seen: str, advice: str) -> Finding:
    """Return the finding that it could not be looked at."""
    return Finding(Health.UNKNOWN, seen, advice)
