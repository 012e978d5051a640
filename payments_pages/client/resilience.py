"""One bulkhead for each process, and in it one circuit breaker for each service and key."""

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from payments_pages.exceptions import NotAsked

__all__ = ["BREAKER_PAUSE", "FAILURES", "PATIENCE", "Breaker", "Bulkhead", "Gates"]

PATIENCE: Final = 0.25
"""Seconds. How long a call waits for a place while every call inside is younger than that (our decision).

In a rush on a healthy service a place becomes free in a moment. If a call is older, the service
is slow, and further calls do not wait: a service that hangs costs this time once.
"""


class Bulkhead:
    """The calls in progress, each with its start. Safe to share between threads."""

    __slots__ = ("_entered", "_freed")

    def __init__(self) -> None:
        self._freed = threading.Condition(threading.Lock())
        self._entered: deque[float] = deque()

    def enter(self, limit: int, *, patience: float = 0.0) -> bool:
        """Take a place if fewer than `limit` are taken; after True call `leave()`.

        With `patience`, in seconds, wait for a place while every call in progress is younger.
        """
        with self._freed:
            while len(self._entered) >= limit:
                wait = self._entered[0] + patience - time.monotonic() if self._entered else 0.0
                if wait <= 0 or not self._freed.wait(wait):
                    return False
            self._entered.append(time.monotonic())
            return True

    def leave(self) -> None:
        """Free the oldest entry, whichever call ends.

        A single slow call among fast ones is thus soon discounted. If the service hangs, no call
        ends, and the limit holds.
        """
        with self._freed:
            self._entered.popleft()
            self._freed.notify()


FAILURES: Final = 5
"""Failures in a row that open it (our decision)."""


BREAKER_PAUSE: Final = 10.0
"""Seconds between two probes while it is open (our decision)."""


class Breaker:
    """A circuit breaker: open after `failures` in a row, then one probe every `pause` seconds.

    A success closes it. A probe whose thread died never reports; that only costs one pause.
    `clock` gives monotonic seconds. Safe to share between threads.
    """

    __slots__ = ("_clock", "_failures", "_in_a_row", "_lock", "_pause", "_probe_at")

    def __init__(
        self,
        *,
        failures: int = FAILURES,
        pause: float = BREAKER_PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lock = threading.Lock()
        self._failures = failures
        self._pause = pause
        self._clock = clock
        self._in_a_row = 0
        self._probe_at = 0.0

    def admit(self) -> bool:
        """Tell whether a call may be made now; the caller reports with `succeed` or `fail`."""
        with self._lock:
            if self._in_a_row < self._failures:
                return True
            now = self._clock()
            if now < self._probe_at:
                return False
            self._probe_at = now + self._pause
            return True

    def succeed(self) -> None:
        """Record that the service answered."""
        with self._lock:
            self._in_a_row = 0

    def fail(self) -> None:
        """Record that the service did not answer, or answered with a fault."""
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


MAX_KEPT = 64
"""Breakers kept in memory; a key that is rotated by the hour adds one each time."""


class Gates:
    """The permission to call: a bulkhead and breakers, shared by the clients of a process.

    Safe over a fork: entries belong to a process number, so that a lock or a place taken by the
    parent at the moment of the fork does not count in the child.
    """

    def __init__(self, *, breaker: Callable[[], Breaker] = Breaker) -> None:
        self._make = breaker
        self._bulkheads: dict[int, Bulkhead] = {}
        self._breakers: dict[tuple[int, str, bytes], Breaker] = {}

    def forget(self) -> None:
        """Close every breaker and free every place: for tests that share a process."""
        self._bulkheads.clear()
        self._breakers.clear()

    def breaker(self, base_url: str, key_hash: bytes) -> Breaker:
        """Return the breaker of one service under one key; of the key only a hash is kept."""
        if len(self._breakers) >= MAX_KEPT:
            self._breakers.clear()
        name = (os.getpid(), base_url, key_hash)
        # setdefault is one step for CPython: two threads that come first get the same one.
        return self._breakers.get(name) or self._breakers.setdefault(name, self._make())

    def longest_pause(self) -> float:
        """Return the seconds until this process asks a failing service again; 0: no breaker is open."""
        process = os.getpid()
        own = [breaker for name, breaker in self._breakers.copy().items() if name[0] == process]
        return max((breaker.opens_in() for breaker in own), default=0.0)

    @contextmanager
    def opened(self, base_url: str, key_hash: bytes, *, max_calls: int) -> Iterator[Breaker]:
        """Take one of `max_calls` places for one call.

        Raise `NotAsked` if none is free or the breaker is open. The place is taken first, so that
        a probe of the breaker is not used up when no place is free.
        """
        process = os.getpid()
        bulkhead = self._bulkheads.get(process) or self._bulkheads.setdefault(process, Bulkhead())
        if not bulkhead.enter(max_calls, patience=PATIENCE):
            raise NotAsked("not asked: too many calls wait for the service")
        try:
            breaker = self.breaker(base_url, key_hash)
            if not breaker.admit():
                wait = math.ceil(breaker.opens_in())
                raise NotAsked("not asked: the service keeps failing", retry_after=wait)
            yield breaker
        finally:
            bulkhead.leave()
