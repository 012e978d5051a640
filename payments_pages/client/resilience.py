"""Keep one bulkhead for a process and one breaker for each service and key in it."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from payments_pages.client.breaker import Breaker
from payments_pages.client.bulkhead import PATIENCE, Bulkhead
from payments_pages.exceptions import NotAsked

__all__ = ["Gates"]

MAX_KEPT = 64
"""Breakers kept; a key that is rotated by the hour must not fill the memory."""


class Gates:
    """Say before each call whether it may be made; share one among the clients of a process.

    Safe over a fork: what the parent knew stays with the parent's process number, so that a
    lock held or a place taken at the moment of the fork binds no child.
    """

    def __init__(self, *, breaker: Callable[[], Breaker] = Breaker) -> None:
        self._make = breaker
        self._bulkheads: dict[int, Bulkhead] = {}
        self._breakers: dict[tuple[int, str, bytes], Breaker] = {}

    def forget(self) -> None:
        """Close every breaker and take nobody for waiting: for tests that share a process."""
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
        mine = [breaker for name, breaker in self._breakers.copy().items() if name[0] == process]
        return max((breaker.opens_in() for breaker in mine), default=0.0)

    @contextmanager
    def opened(self, base_url: str, key_hash: bytes, *, max_calls: int) -> Iterator[Breaker]:
        """Hold one of `max_calls` places for one call; raise `NotAsked` when there is none or the breaker is open.

        The place is taken first: a probe of the breaker must not be spent on a full house.
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
