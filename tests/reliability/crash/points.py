"""Count the points of a run, which are its statements and its commits, and break it at the n-th.

Nothing in the package marks them: whatever goes to the database is a point, so a new statement
is one from the day it is written. The call to the service lies between two of them: who dies
just before the next statement has had its answer.
"""

import os
import re
import signal
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from payments_pages.confirmation import refuse_other_site

__all__ = ["BREAKS", "KILLS", "Break", "Points", "cut_line", "kill", "kill_after", "lose_answer"]

Step = Callable[[], Any]
Break = Callable[[Step], Any]

_VERB = re.compile(r"^(\w+)(?: INTO| .*? FROM)? ?[`\"]?(\w*)", re.DOTALL)


class Points:
    """Watch a run of this thread; at the n-th point let `broken` do the step in its own way.

    `seen` names the points that were reached, `hit` says whether the n-th was one of them.
    """

    def __init__(self, at: int = 0, broken: Break | None = None) -> None:
        self.at = at
        self.broken = broken
        self.seen: list[str] = []

    @property
    def hit(self) -> bool:
        return 0 < self.at <= len(self.seen)

    @contextmanager
    def watch(self) -> Iterator[None]:
        # A process looks once in half a minute: the look must not shift the numbers of the steps.
        refuse_other_site()
        commit = connection.commit
        connection.commit = lambda: self._reach("COMMIT", commit)  # type: ignore[method-assign]
        try:
            with connection.execute_wrapper(self._statement):
                yield
        finally:
            connection.commit = commit  # type: ignore[method-assign]

    def _statement(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        match = _VERB.match(sql)
        name = " ".join(match.groups()) if match else sql
        return self._reach(name, lambda: execute(sql, params, many, context))

    def _reach(self, name: str, step: Step) -> Any:
        self.seen.append(name)
        if len(self.seen) == self.at and self.broken is not None:
            return self.broken(step)
        return step()


def kill(step: Step) -> None:
    """End the process, uncatchably, before the step."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_after(step: Step) -> None:
    """Do the step, and end the process before it knows: the last commit has its crash too."""
    step()
    os.kill(os.getpid(), signal.SIGKILL)


KILLS: dict[str, Break] = {"before": kill, "after": kill_after}


def cut_line(step: Step) -> Any:
    """Let the server end our session before the step; the driver itself then raises."""
    _cut()
    return step()


def lose_answer(step: Step) -> None:
    """Do the step, and lose the connection before its answer: who asked cannot know."""
    step()
    if connection.vendor == "sqlite" and connection.connection.in_transaction:
        # There it is the statement that failed, and a failed BEGIN has begun nothing.
        connection.connection.rollback()
    _cut()
    with connection.wrap_database_errors:
        connection.connection.cursor().execute("SELECT 1")
    raise AssertionError("the line was cut, and yet it answered")


BREAKS: dict[str, Break] = {"before": cut_line, "after": lose_answer}


def _cut() -> None:
    """Cut the line to the server, or to the pooler; SQLite has none, there the file is locked."""
    if connection.vendor == "sqlite":
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        with connection.wrap_database_errors:
            raise error
    line: Any = connection.connection
    if os.environ.get("TESTS_POOLER") == "1":
        # There the server's session is not ours: it belongs to the next transaction of any client.
        with socket.socket(fileno=os.dup(line.fileno())) as half:
            half.shutdown(socket.SHUT_RDWR)
        return
    other: Any = connection.copy()
    try:
        with other.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [line.info.backend_pid])
            else:
                _kill_session(cursor, line.thread_id())
    finally:
        other.close()


def _kill_session(cursor: Any, number: int) -> None:
    cursor.execute("KILL %s", [number])
    while cursor.execute("SELECT 1 FROM information_schema.processlist WHERE id = %s", [number]):
        if not cursor.fetchall():
            return
