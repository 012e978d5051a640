"""Errors of the database that end by themselves, and the next try after a brief one."""

import random
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    connections,
)

__all__ = [
    "RETRY_WITHIN",
    "HeldRowError",
    "is_lock_refused",
    "is_transient",
    "is_unstorable",
    "retry_transient",
]

Result = TypeVar("Result")


RETRY_WITHIN = 2.0
"""Seconds after which a brief error is raised and not retried: a web thread must not wait longer."""


_PAUSES = (0.03, 0.1, 0.3)
"""Seconds before each further try, times a random factor from 0.5 to 1.5."""


# Errors that are over a moment later, so that it is worth another try at once.
#
# Deadlock, lock wait, snapshot isolation, an interrupted statement or commit, a conflict of the
# cluster's, too many connections, and the connection's own ends (MariaDB, MySQL).
_BRIEF_NUMBERS = frozenset(
    {1020, 1040, 1053, 1158, 1159, 1160, 1161, 1180, 1184, 1203, 1205, 1213, 1317, 1927, 1969}
    | {2002, 2003, 2006, 2013, 2055, 3024, 3101, 4031}
)


# Serialization failure, deadlock, lock not available, a statement's time, shutdowns, too many
# connections; class 08 is the connection (PostgreSQL).
_BRIEF_SQLSTATES = frozenset(
    {"40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "57P05", "53300"}
)


_BRIEF_SQLITE = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


# Errors that last until a failover is over or somebody has made room. They say nothing about the
# payment either, but another try at once would only keep the payer waiting.
#
# Read-only after a failover, a node that has left its cluster, full disks, an account's hourly
# limit, a host that is locked out (MariaDB, MySQL).
_LONG_NUMBERS = frozenset({1021, 1047, 1114, 1129, 1226, 1290, 1792, 1836})


# Read-only, full disk, no memory, and a transaction that was open or idle for too long: the next
# run would take as long (PostgreSQL).
_LONG_SQLSTATES = frozenset({"25006", "25P03", "25P04", "53100", "53200"})


_LONG_SQLITE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
)


class HeldRowError(OperationalError):
    """A row is locked by another transaction, and nobody waits for it: look again later."""


def is_transient(error: BaseException) -> bool:
    """Tell whether a database error means "unknown: look again later" rather than a fault."""
    return _is_brief(error) or _is_long(error)


def is_lock_refused(error: BaseException) -> bool:
    """Tell whether NOWAIT found a lock: MariaDB's number, MySQL's, PostgreSQL's state."""
    return _code_of(error) in {1205, 3572, "55P03"}


def is_unstorable(error: BaseException) -> bool:
    """Tell whether the database refused letters that its character set does not have."""
    return _code_of(error) in {1366, 3988, "22021", "22P05"}


def _is_brief(error: BaseException) -> bool:
    """Tell whether another try at once makes sense."""
    if isinstance(error, HeldRowError):
        return True
    code = _code_of(error)
    if isinstance(code, str):
        return code in _BRIEF_SQLSTATES or code.startswith("08")
    if _is_sqlites(error):
        return code in _BRIEF_SQLITE
    # psycopg and psycopg2 give no state when the line to the server is cut.
    lost = isinstance(error, OperationalError) and code is None
    return lost or isinstance(error, InterfaceError) or code in _BRIEF_NUMBERS


def _is_long(error: BaseException) -> bool:
    """Tell whether the error lasts until an administrator has done something."""
    code = _code_of(error)
    if isinstance(code, str):
        return code in _LONG_SQLSTATES
    return code in (_LONG_SQLITE if _is_sqlites(error) else _LONG_NUMBERS)


def _is_sqlites(error: BaseException) -> bool:
    return isinstance(error.__cause__ or error, sqlite3.Error)


def _code_of(error: BaseException) -> str | int | None:
    """Return the driver's code: a SQLSTATE, MariaDB's number, SQLite's primary code, or None.

    The class is not enough: SQLite's "no such table" has the same class as its "locked".
    """
    if not isinstance(error, DatabaseError | InterfaceError):
        return None
    cause = error.__cause__ or error
    if isinstance(cause, sqlite3.Error):
        # The low byte is the kind; errors of the module itself have no code.
        return int(getattr(cause, "sqlite_errorcode", 0)) & 0xFF
    # psycopg calls it `sqlstate`, psycopg2 `pgcode`.
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    if isinstance(state, str):
        return state
    return cause.args[0] if cause.args and isinstance(cause.args[0], int) else None


def retry_transient(
    action: Callable[[int], Result], *, using: str, within: float = RETRY_WITHIN
) -> Result:
    """Run `action`; on a brief database error retry up to three times, then raise the last error.

    - `action` gets the number of the try, from 0. It must be a read, or a transaction of its own (a
      single statement is one) whose first statement is its guard. If the answer to a commit was
      lost, the guard of the next try no longer matches.
    - Inside an open transaction of the caller it runs once, because only the caller can roll back.
    - An error that took more than `within` seconds, such as the end of a long wait for a lock, is
      raised at once: a web thread must not wait for that repeatedly.
    """
    if connections[using].in_atomic_block:
        return action(0)
    started = time.monotonic()
    for number, pause in enumerate(_PAUSES):
        try:
            return action(number)
        except (DatabaseError, InterfaceError) as error:
            if not _is_brief(error) or time.monotonic() - started > within:
                raise
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - only spreads the tries
            connections[using].close_if_unusable_or_obsolete()
    return action(len(_PAUSES))
