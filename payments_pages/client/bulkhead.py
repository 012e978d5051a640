"""Bound how many threads of a process wait on the service at once.

Without it a service that hangs takes every web thread down with it, whatever the timeouts.
`threading.BoundedSemaphore` is nearly this; its size is fixed when it is made, while settings
are read anew for each call, and it cannot tell a rush from a service that hangs.
"""

import threading
import time
from collections import deque
from typing import Final

__all__ = ["PATIENCE", "Bulkhead"]

PATIENCE: Final = 0.25
"""Seconds. While every call inside is younger, whoever finds no place waits for one (our decision).

In a rush on a healthy service a place is free in a moment. When a call is older, the service is
slow, and nobody more waits: what a service that hangs can cost is this long, once.
"""


class Bulkhead:
    """Count who is inside, and since when. Safe to share between threads."""

    __slots__ = ("_entered", "_freed")

    def __init__(self) -> None:
        self._freed = threading.Condition(threading.Lock())
        self._entered: deque[float] = deque()

    def enter(self, limit: int, *, patience: float = 0.0) -> bool:
        """Take a place if fewer than `limit` are taken; who got True must `leave()`.

        With `patience`, in seconds, wait for a place while no call inside is as old as that.
        """
        with self._freed:
            while len(self._entered) >= limit:
                young = self._entered[0] + patience - time.monotonic() if self._entered else 0.0
                if young <= 0 or not self._freed.wait(young):
                    return False
            self._entered.append(time.monotonic())
            return True

    def leave(self) -> None:
        """Give a place back.

        Which of those inside leaves is not asked: the oldest is taken off, so that one long call
        among quick ones is soon forgotten, and a service that hangs lets nobody leave.
        """
        with self._freed:
            self._entered.popleft()
            self._freed.notify()
