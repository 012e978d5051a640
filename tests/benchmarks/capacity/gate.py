"""Simulate our bulkhead: its places, and who may wait for one (`payments_pages.bulkhead`)."""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from tests.benchmarks.capacity.engine import Clock, Resume

__all__ = ["Gate"]


class Gate:
    """Let `limit` calls in at once; others wait while every call inside is younger than `patience`."""

    def __init__(self, clock: Clock, limit: int, patience: float) -> None:
        self._clock = clock
        self._limit = limit
        self._patience = patience
        self._entered: deque[float] = deque()
        self._waiting: deque[_Ticket] = deque()
        self._busy = 0.0
        self._since = 0.0

    def enter(self) -> Generator[Any, None, bool]:
        """Take a place, now or soon: `admitted = yield from gate.enter()`."""
        while len(self._entered) >= self._limit:
            young = self._entered[0] + self._patience - self._clock.now if self._entered else 0.0
            if young <= 0:
                return False
            ticket = _Ticket()
            self._waiting.append(ticket)
            yield self._wait(ticket, young)
            if not ticket.woken:
                return False
        self._count()
        self._entered.append(self._clock.now)
        return True

    def leave(self) -> None:
        """Give a place back, and wake who has waited longest."""
        self._count()
        self._entered.popleft()
        while self._waiting:
            ticket = self._waiting.popleft()
            if ticket.resume is not None:
                ticket.woken = True
                self._clock.at(self._clock.now, ticket.take())
                return

    def use(self) -> float:
        """Return the share of all places that was taken, over all time so far."""
        self._count()
        return self._busy / (self._clock.now * self._limit) if self._clock.now else 0.0

    def _wait(self, ticket: "_Ticket", seconds: float) -> Callable[[Resume], None]:
        def ask(resume: Resume) -> None:
            ticket.resume = resume
            self._clock.at(self._clock.now + seconds, late)

        def late() -> None:
            if ticket.resume is not None:
                ticket.take()()

        return ask

    def _count(self) -> None:
        self._busy += len(self._entered) * (self._clock.now - self._since)
        self._since = self._clock.now


class _Ticket:
    """Be one who waits; `resume` is there until they go on, woken or too late."""

    def __init__(self) -> None:
        self.resume: Resume | None = None
        self.woken = False

    def take(self) -> Resume:
        """Return how to go on, once."""
        resume, self.resume = self.resume, None
        assert resume is not None
        return resume
