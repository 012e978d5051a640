"""Bound how many threads of a process wait on the service at once.

Without it a service that hangs takes every web thread down with it, whatever the timeouts.
`threading.BoundedSemaphore` is nearly this; its size is fixed when it is made, while settings
are read anew for each call.
"""

import threading

__all__ = ["Bulkhead"]


class Bulkhead:
    """Count who is inside; never make anybody wait. Safe to share between threads."""

    __slots__ = ("_inside", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def enter(self, limit: int) -> bool:
        """Take a place if fewer than `limit` are taken; who got True must `leave()`."""
        with self._lock:
            if self._inside >= limit:
                return False
            self._inside += 1
            return True

    def leave(self) -> None:
        """Give the place back."""
        with self._lock:
            self._inside -= 1
