"""Ask the database whether one connection waits for a lock that another may hold."""

import re
from typing import Any

from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

__all__ = ["is_waiting", "session_of"]

_WRITES = frozenset({"BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT"})
_WAITING = re.compile(r"LOCK WAIT(?:(?!---TRANSACTION).)*? thread id (\d+)", re.DOTALL)


def session_of(line: BaseDatabaseWrapper) -> int:
    """Return the server's number of a line; to be asked by the thread that has it.

    0 but on MariaDB and MySQL, whose list of locks is the whole server's.
    """
    line.ensure_connection()
    raw: Any = line.connection
    return int(raw.thread_id()) if line.vendor == "mysql" else 0


def is_waiting(session: int, step: str, other: BaseDatabaseWrapper) -> bool:
    """Say whether a session waits for a lock now; `other` has a transaction and stands still.

    `step` is the last that it went for, for SQLite cannot be asked who waits. Asked on the
    caller's own connection, which is neither of the two.
    """
    if connection.vendor == "sqlite":
        # While one stands still with the lock of the file, nobody else's write can end.
        return step.split(" ", maxsplit=1)[0] in _WRITES and _holds_the_file(other)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Any session of this database: behind a pooler a connection has no session of its own.
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            return bool(cursor.fetchone()[0])
        # Not `innodb_trx`: if it is read often, its rows are not refreshed.
        cursor.execute("SHOW ENGINE INNODB STATUS")
        # The text before its list of transactions is about the latest deadlock.
        now = cursor.fetchone()[2].rpartition("LIST OF TRANSACTIONS")[2]
        return str(session) in _WAITING.findall(now)


def _holds_the_file(other: BaseDatabaseWrapper) -> bool:
    """Say whether `other` keeps everybody else from writing: SQLite has one lock for the file."""
    raw: Any = other.connection
    if not raw.in_transaction:
        return False
    if getattr(other, "transaction_mode", None) == "IMMEDIATE":
        return True
    with connection.cursor() as cursor:
        # Deferred: the lock comes with the first write. Who gets it at once has given it back.
        cursor.execute("PRAGMA busy_timeout")
        before = cursor.fetchone()[0]
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            cursor.execute("BEGIN IMMEDIATE")
            cursor.execute("ROLLBACK")
        except OperationalError:
            return True
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {before}")
    return False
