"""Stop asking a service that keeps failing, and find out now and then whether it is back.

At run time this app needs only Django and requests. Of the well-kept libraries `pybreaker` comes
nearest (also `purgatory`, `circuitbreaker`): each wraps a function and tells failures by exception
class, holds a lock or a state object around the call, and offers listeners and shared storage. We
count by the answer's status, share nothing between processes (a shared breaker is one more thing
that can fail, and the row in the database keeps the reference anyway) and need forty lines.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

__all__ = ["FAILURES", "PAUSE", "Breaker"]

FAILURES: Final = 5
"""Failures in a row that open it (our decision)."""
PAUSE: Final = 10.0
"""Seconds between two probes while it is open (our decision)."""


class Breaker:
    """Be closed until `failures` in a row, then let one probe through every `pause` seconds.

    A success closes it. A probe that never reports, for its thread died, only costs a pause.
    `clock` gives monotonic seconds. Safe to share between threads.
    """

    __slots__ = ("_clock", "_failures", "_in_a_row", "_lock", "_pause", "_probe_at")

    def __init__(
        self,
        *,
        failures: int = FAILURES,
        pause: float = PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lock = threading.Lock()
        self._failures = failures
        self._pause = pause
        self._clock = clock
        self._in_a_row = 0
        self._probe_at = 0.0

    def admit(self) -> bool:
        """Say whether a call may be made now; the caller reports with `succeed` or `fail`."""
        with self._lock:
            if self._in_a_row < self._failures:
                return True
            now = self._clock()
            if now < self._probe_at:
                return False
            self._probe_at = now + self._pause
            return True

    def succeed(self) -> None:
        """Note that the service answered."""
        with self._lock:
            self._in_a_row = 0

    def fail(self) -> None:
        """Note that it did not, or is unwell."""
        with self._lock:
            self._in_a_row += 1
            if self._in_a_row >= self._failures:
                self._probe_at = self._clock() + self._pause

    def opens_in(self) -> float:
        """Return the seconds until the next probe; 0 when a call may be made now."""
        with self._lock:
            if self._in_a_row < self._failures:
                return 0.0
            return max(0.0, self._probe_at - self._clock())
