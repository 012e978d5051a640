"""A small discrete-event simulation: a clock, processes that wait, and what they wait for."""

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

__all__ = ["Clock", "Log", "Places", "Process"]

Process = Generator[Any, None, None]
"""A generator that yields seconds to sleep, or what `Places.take` and `Log.commit` return."""

Resume = Callable[[], None]


class Clock:
    """Run processes in the order of simulated time; a tie goes to who came first."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = itertools.count()
        self._due: list[tuple[float, int, Resume]] = []

    def at(self, moment: float, action: Resume) -> None:
        """Do something at a moment of simulated seconds."""
        heapq.heappush(self._due, (moment, next(self._order), action))

    def start(self, process: Process) -> None:
        """Run a process until it waits, and go on with it when its time has come."""

        def step() -> None:
            try:
                wanted = next(process)
            except StopIteration:
                return
            if callable(wanted):
                wanted(step)
            else:
                self.at(self.now + wanted, step)

        step()

    def run(self, until: float) -> None:
        """Let time pass."""
        while self._due and self._due[0][0] <= until:
            self.now, _order, action = heapq.heappop(self._due)
            action()
        self.now = until


class Places:
    """So many places, first come, first served: threads, cores, a lock, a worker.

    Keeps how busy they were and how long the queue got.
    """

    def __init__(self, clock: Clock, number: int) -> None:
        self._clock = clock
        self.number = number
        self.taken = 0
        self._waiting: deque[Resume] = deque()
        self._busy = 0.0
        self._since = 0.0

    def take(self) -> Callable[[Resume], None]:
        """Be given a place, now or later: `yield places.take()`."""

        def ask(resume: Resume) -> None:
            if self.taken < self.number:
                self._count(+1)
                resume()
            else:
                self._waiting.append(resume)

        return ask

    def leave(self) -> None:
        """Give the place back, to who has waited longest."""
        if self._waiting:
            self._clock.at(self._clock.now, self._waiting.popleft())
        else:
            self._count(-1)

    @property
    def queue(self) -> int:
        """Tell how many wait."""
        return len(self._waiting)

    def use(self) -> float:
        """Return the share of all places that was taken, over all time so far."""
        self._count(0)
        return self._busy / (self._clock.now * self.number) if self._clock.now else 0.0

    def _count(self, change: int) -> None:
        self._busy += self.taken * (self._clock.now - self._since)
        self._since = self._clock.now
        self.taken += change


class Log:
    """A write-ahead log: who commits during a flush is written, with all others, by the next one."""

    def __init__(self, clock: Clock, flush: float) -> None:
        self._clock = clock
        self._flush = flush
        self._next: list[Resume] = []
        self._flushing = False
        self._busy = 0.0

    def commit(self) -> Callable[[Resume], None]:
        """Be durable, after the next whole flush: `yield log.commit()`."""

        def ask(resume: Resume) -> None:
            self._next.append(resume)
            if not self._flushing:
                self._start()

        return ask

    def use(self) -> float:
        """Return the share of time in which a flush was going on."""
        return self._busy / self._clock.now if self._clock.now else 0.0

    def _start(self) -> None:
        self._flushing = True
        self._busy += self._flush
        together, self._next = self._next, []

        def done() -> None:
            self._flushing = False
            if self._next:
                self._start()
            for resume in together:
                resume()

        self._clock.at(self._clock.now + self._flush, done)
