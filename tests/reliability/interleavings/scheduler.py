"""Let two threads take their steps in an order of our choosing.

A step is a statement or a commit, as in `tests.reliability.crash.points`: each thread stops before each of
its own and goes on when it may. The call to the service lies between two of them.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.reliability.crash.points import Points
from tests.reliability.interleavings.locks import is_waiting, session_of

__all__ = ["Meeting", "Rival", "meetings"]

PATIENCE = 0.03
"""Seconds without a step after which it is asked whether a rival waits for a lock of the other."""
LONGEST_STEP = 20.0
"""Seconds that a step may take although no lock is waited for: the computer may be busy."""
END = 10_000
MOST_STEPS = 60


class Rival(Points):
    """A thread that stops before each of its steps until it may take it."""

    def __init__(self, action: Callable[[], Any], thread: Executor) -> None:
        super().__init__()
        self._action = action
        self._thread = thread
        self._limit = 0
        self._change = threading.Condition()
        self._started = False
        self._ended = False
        self._session = 0
        self.line: BaseDatabaseWrapper | None = None
        self.result: Future[Any] = Future()

    def run_to(self, step: int, *, beside: "Rival | None" = None) -> str:
        """Go on until just before that step: "paused", "ended", or "blocked" by the one `beside`.

        Blocked is who really waits for a lock of the other's: a slow machine must not end a row
        of meetings early. Raise `AssertionError` for who neither waits nor comes any further.
        """
        with self._change:
            self._limit = step
            self._change.notify_all()
        if not self._started:
            self._started = True
            self.result = self._thread.submit(self._run)
        return self._watched(step, beside)

    def let_go(self) -> None:
        """Stop it no more."""
        with self._change:
            self._limit = END
            self._change.notify_all()

    def _watched(self, step: int, beside: "Rival | None") -> str:
        moved = time.monotonic()
        with self._change:
            while not self._ended:
                reached = len(self.seen)
                if reached >= step:
                    return "paused"
                self._change.wait(PATIENCE)
                if len(self.seen) != reached or self._ended:
                    moved = time.monotonic()
                elif beside is not None and self._is_blocked(beside):
                    return "blocked"
                else:
                    idle = time.monotonic() - moved
                    assert idle < LONGEST_STEP, f"neither waits nor moves: {self.seen}"
        return "ended"

    def _is_blocked(self, other: "Rival") -> bool:
        # Not `in_atomic_block`: Django says no to that before it commits.
        if other.line is None or other.line.autocommit or not self.seen:
            return False
        return is_waiting(self._session, self.seen[-1], other.line)

    def _run(self) -> Any:
        try:
            self.line = connections[DEFAULT_DB_ALIAS]
            self._session = session_of(self.line)
            with self.watch():
                return self._action()
        finally:
            with self._change:
                self._ended = True
                self._change.notify_all()

    def _reach(self, name: str, step: Callable[[], Any]) -> Any:
        with self._change:
            self.seen.append(name)
            number = len(self.seen)
            self._change.notify_all()
            self._change.wait_for(lambda: number < self._limit, timeout=30)
        return step()


@dataclass(frozen=True, slots=True)
class Meeting:
    """One order of steps, and what became of it. `results` holds a value or an error for each."""

    number: int
    where: str
    results: tuple[Any, Any]


def meetings(
    prepare: Callable[[int], tuple[Callable[[], Any], Callable[[], Any]]],
    meanwhile: Callable[[int], None] = lambda number: None,
    *,
    half: bool = False,
) -> Iterator[Meeting]:
    """Play all orders: the first stops before its i-th step, the second before its j-th.

    Then the first ends, then the second. i and j count up until there are no more steps; a
    second that is blocked cannot come further, whatever j. `prepare` gets the number of the
    meeting and gives the two actions; `meanwhile` happens when the first has stopped. With `half`
    every second j is left out, the odd ones for one i and the even ones for the next.
    """
    # Two threads for all meetings: what a thread opens, its line to the database and to the
    # service, costs more than the steps that are watched.
    with ThreadPoolExecutor(1) as here, ThreadPoolExecutor(1) as there:
        try:
            yield from _meetings(prepare, meanwhile, (here, there), 2 if half else 1)
        finally:
            for thread in (here, there):
                thread.submit(connections.close_all).result(timeout=30)


def _meetings(
    prepare: Callable[[int], tuple[Callable[[], Any], Callable[[], Any]]],
    meanwhile: Callable[[int], None],
    threads: tuple[Executor, Executor],
    stride: int,
) -> Iterator[Meeting]:
    number = 0
    for i in range(1, MOST_STEPS):
        for j in range(1 + i % stride, MOST_STEPS, stride):
            number += 1
            first, second = map(Rival, prepare(number), threads)
            try:
                first_came = first.run_to(i)
                meanwhile(number)
                second_came = second.run_to(j, beside=first)
                first.run_to(END, beside=second)
                second.run_to(END)
            finally:
                first.let_go()
                second.let_go()
            results = _outcome(first), _outcome(second)
            where = f"{first.seen[:i]} | {second.seen[:j]} ({first_came}, {second_came})"
            yield Meeting(number, where, results)
            if first_came == "ended":
                return
            if second_came != "paused":
                break
    raise AssertionError("there is no end of steps")


def _outcome(rival: Rival) -> Any:
    try:
        return rival.result.result(timeout=30)
    except Exception as error:  # noqa: BLE001 - the test judges it
        return error
