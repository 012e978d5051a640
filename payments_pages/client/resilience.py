"""One bulkhead for each process, and in it one circuit breaker for each service and key."""

import math
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from payments_pages.exceptions import NotAsked
from payments_pages.limits import LEAST_CALLS

__all__ = ["BREAKER_PAUSE", "FAILURES", "PATIENCE", "Breaker", "Bulkhead", "Gates"]

PATIENCE: Final = 0.25
"""Seconds. How long a call waits for a place while every call inside is younger than that (our decision).

In a rush on a healthy service a place becomes free in a moment. If a call is older, the service
is slow, and further calls do not wait: a service that hangs costs this time once.
"""


_asking: dict[int, weakref.ref[threading.Thread]] = {}
"""The threads of this process that have come to a bulkhead, by their number; some may have ended."""


def _half_of_threads() -> int:
    """Return half of the living threads that have come to a bulkhead; `LEAST_CALLS` at least.

    A server has as many threads as it needs at once, and each of them comes here with the first
    payer whom it serves. If the service hangs, the other half serves the rest of the site.
    """
    thread, number = threading.current_thread(), threading.get_ident()
    known = _asking.get(number)
    if known is None or known() is not thread:
        # Without a lock, which a fork could leave taken: who is missed here is added next time.
        for other, reference in list(_asking.items()):
            if (found := reference()) is None or not found.is_alive():
                _asking.pop(other, None)
        _asking[number] = weakref.ref(thread)
    return max(LEAST_CALLS, len(_asking) // 2)


class _Places:
    """The calls in progress of one process, each with its start."""

    __slots__ = ("entered", "freed")

    def __init__(self) -> None:
        self.freed = threading.Condition(threading.Lock())
        self.entered: deque[float] = deque()


class Bulkhead:
    """The places for calls in progress. Safe to share between threads, and over a fork."""

    __slots__ = ("_by_process",)

    def __init__(self) -> None:
        # By the process's number: a lock or a place taken by the parent at the moment of a fork
        # does not count in the child.
        self._by_process: dict[int, _Places] = {}

    def _places(self) -> _Places:
        process = os.getpid()
        # setdefault is one step for CPython: two threads that come first get the same places.
        return self._by_process.get(process) or self._by_process.setdefault(process, _Places())

    def enter(self, limit: int | None, *, patience: float = 0.0) -> bool:
        """Take a place if fewer than `limit` are taken; after True call `leave()`.

        None stands for half of the threads that have come to a bulkhead of this process.

        With `patience`, in seconds, wait for a place while every call in progress is younger.
        """
        if limit is None:
            limit = _half_of_threads()
        places = self._places()
        with places.freed:
            while len(places.entered) >= limit:
                wait = places.entered[0] + patience - time.monotonic() if places.entered else 0.0
                if wait <= 0 or not places.freed.wait(wait):
                    return False
            places.entered.append(time.monotonic())
            return True

    def leave(self) -> None:
        """Free the oldest entry, whichever call ends.

        A single slow call among fast ones is thus soon discounted. If the service hangs, no call
        ends, and the limit holds.
        """
        places = self._places()
        with places.freed:
            if places.entered:  # it has none in a child that was forked inside a call
                places.entered.popleft()
                places.freed.notify()

    def forget(self) -> None:
        """Free every place: for tests that share a process."""
        self._by_process.clear()


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

    def is_open(self) -> bool:
        """Tell whether only probes are made.

        False also for one that nobody has asked for two pauses: its key may have been rotated.
        """
        with self._lock:
            is_current = self._clock() < self._probe_at + self._pause
            return is_current and self._in_a_row >= self._failures


MAX_KEPT = 64
"""Breakers kept in memory; a key that is rotated by the hour adds one each time."""


class Gates:
    """The permission to call: a bulkhead and breakers, shared by the clients of a process.

    Safe over a fork: a breaker belongs to a process number, like the places of a bulkhead.
    """

    def __init__(self, *, breaker: Callable[[], Breaker] = Breaker) -> None:
        self._make = breaker
        self._bulkhead = Bulkhead()
        self._breakers: dict[tuple[int, str, bytes], Breaker] = {}

    def forget(self) -> None:
        """Close every breaker and free every place: for tests that share a process."""
        self._bulkhead.forget()
        self._breakers.clear()
        _asking.clear()

    def breaker(self, base_url: str, key_hash: bytes) -> Breaker:
        """Return the breaker of one service under one key; of the key only a hash is kept."""
        if len(self._breakers) >= MAX_KEPT:
            self._breakers.clear()
        name = (os.getpid(), base_url, key_hash)
        # setdefault is one step for CPython: two threads that come first get the same one.
        return self._breakers.get(name) or self._breakers.setdefault(name, self._make())

    def longest_pause(self) -> float:
        """Return the seconds until this process asks a failing service again; 0: no breaker is open."""
        return max((breaker.opens_in() for breaker in self._own()), default=0.0)

    def is_failing(self) -> bool:
        """Tell whether a breaker of this process is open: a call that is made now is its probe."""
        return any(breaker.is_open() for breaker in self._own())

    def _own(self) -> list[Breaker]:
        process = os.getpid()
        return [breaker for name, breaker in self._breakers.copy().items() if name[0] == process]

    @contextmanager
    def opened(self, base_url: str, key_hash: bytes, *, max_calls: int | None) -> Iterator[Breaker]:
        """Take one of `max_calls` places for one call (see `Bulkhead.enter`).

        Raise `NotAsked` if none is free or the breaker is open. The place is taken first, so that
        a probe of the breaker is not used up when no place is free.
        """
        if not self._bulkhead.enter(max_calls, patience=PATIENCE):
            raise NotAsked("not asked: too many calls wait for the service")
        try:
            breaker = self.breaker(base_url, key_hash)
            if not breaker.admit():
                wait = math.ceil(breaker.opens_in())
                raise NotAsked("not asked: the service keeps failing", retry_after=wait)
            yield breaker
        finally:
            self._bulkhead.leave()
