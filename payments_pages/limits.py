"""The limits of one call to the service, and of how many calls may wait at once."""

from dataclasses import dataclass

__all__ = ["DEFAULT_LIMITS", "LEAST_CALLS", "Limits"]

LEAST_CALLS = 4
"""The calls that may always wait at once in a process where `MAX_CALLS` is not set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a call to the service may take, and how many may wait at once.

    `connect_timeout`: seconds until a connection stands. `read_timeout`: seconds of silence.
    `deadline`: seconds of the whole call, with its second try. `max_calls`: calls of one process;
    None for half of its threads that ask, and `LEAST_CALLS` at least.
    """

    connect_timeout: float = 3
    read_timeout: float = 5
    deadline: float = 8
    max_calls: int | None = None


DEFAULT_LIMITS = Limits()
