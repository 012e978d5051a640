"""Hold what differs between the databases: their clock, their passing errors, their open blocks."""

import datetime as dt
import hashlib
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    InterfaceError,
    OperationalError,
    connections,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import CombinedExpression, Func
from django.db.models.functions import Now
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import non_atomic_requests

from payments_pages.exceptions import DeliveryError, OpenTransactionError

__all__ = [
    "HeldRowError",
    "Unindexed",
    "UtcNow",
    "from_now",
    "is_lock_refused",
    "is_transient",
    "outside_transactions",
    "refuse_ended_transaction",
    "refuse_open_transaction",
    "renew_connections",
    "text_key",
    "tried_again",
]

View = TypeVar("View", bound=Callable[..., Any])
Result = TypeVar("Result")

_PAUSES = (0.03, 0.1, 0.3)
"""Seconds, half as much or half again, before something is tried again."""

# What is over a moment later, so that it is worth another try at once.
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

# What lasts until the servers have changed places or somebody has made room: unknown all the
# same, and no fault of the payment's, but a second try at once only keeps the payer waiting.
#
# Read-only after a failover, a node that has left its cluster, full disks, an account's hourly
# limit, a host that is locked out (MariaDB, MySQL).
_LONG_NUMBERS = frozenset({1021, 1047, 1114, 1129, 1226, 1290, 1792, 1836})
# Read-only, full disk, no memory, and a transaction that was open or idle for too long: its second
# run would be as long (PostgreSQL).
_LONG_SQLSTATES = frozenset({"25006", "25P03", "25P04", "53100", "53200"})
_LONG_SQLITE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
)


class HeldRowError(OperationalError):
    """A row that somebody else holds, for which nobody waits: look again later."""


class UtcNow(Now):
    """Ask the database for the time, in UTC, on every database.

    Django's `Now()` gives MariaDB and MySQL the *session's* local time, while Django stores
    UTC: with a server east of Greenwich every lease would seem hours old.
    """

    def as_mysql(self, compiler: SQLCompiler, connection: Any, **context: Any) -> Any:
        """Use the server's UTC clock, with microseconds."""
        return self.as_sql(compiler, connection, template="UTC_TIMESTAMP(6)", **context)


class Unindexed(Func):
    """Read a text column so that MariaDB and MySQL do not look rows up by it.

    Beside the primary key in a condition they may still choose an index on the state, and at
    REPEATABLE READ then lock the gap beside its entry until the transaction ends: nobody could
    open another delivery while a handler runs (case C22).
    """

    arity = 1
    template = "%(expressions)s"

    def as_mysql(self, compiler: SQLCompiler, connection: Any, **context: Any) -> Any:
        """Hide the column in a function that changes nothing."""
        return self.as_sql(
            compiler, connection, template="COALESCE(%(expressions)s, '')", **context
        )


def from_now(seconds: float) -> CombinedExpression:
    """Build the expression for a moment `seconds` after the database's now.

    Leases and due times are set and read by the database's clock alone, so that a web server's
    skewed clock can neither expire a lease early nor make one eternal (our decision).
    """
    return UtcNow() + dt.timedelta(seconds=seconds)


def text_key(*parts: str) -> str:
    """Hash texts into 64 hex digits that no collation can fold together.

    MariaDB's and MySQL's default collations take `abc-1`, `ABC-1` and `abc-1 ` for one value
    (case C52): a unique key on the text itself would take a second payment for the first.
    """
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def is_transient(error: BaseException) -> bool:
    """Tell whether a database error means "unknown: look again later" rather than a fault."""
    return _is_brief(error) or _is_long(error)


def is_lock_refused(error: BaseException) -> bool:
    """Tell whether NOWAIT found a lock: MariaDB's number, MySQL's, PostgreSQL's state."""
    return _code_of(error) in {1205, 3572, "55P03"}


def _is_brief(error: BaseException) -> bool:
    """Tell whether it is worth another try at once."""
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
    """Tell whether it lasts until the database's keepers have done something."""
    code = _code_of(error)
    if isinstance(code, str):
        return code in _LONG_SQLSTATES
    return code in (_LONG_SQLITE if _is_sqlites(error) else _LONG_NUMBERS)


def _is_sqlites(error: BaseException) -> bool:
    return isinstance(error.__cause__ or error, sqlite3.Error)


def _code_of(error: BaseException) -> str | int | None:
    """Return what the driver says: a SQLSTATE, MariaDB's number, SQLite's primary code, or nothing.

    The class alone says nothing: SQLite's "no such table" has the same one as its "locked".
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


def tried_again(action: Callable[[int], Result], *, using: str, within: float = 2.0) -> Result:
    """Do it, and at most three times more when it ends in a brief error; the last one is raised.

    `action` gets the number of the try, from 0. It must be a read, or a transaction of its own
    (one statement outside of any is one) whose first statement is its fence: after a lost answer
    to a commit the second try finds itself too late. Inside somebody's open transaction it is done
    once, for what has failed there is not ours to undo.
    An error that took more than `within` seconds to come, such as the end of a long wait for a
    lock, is raised at once: a web thread must not wait for that again and again.
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
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - keeps rivals apart
            connections[using].close_if_unusable_or_obsolete()
    return action(len(_PAUSES))


def outside_transactions(view: View) -> View:
    """Exempt a view from `ATOMIC_REQUESTS` on every database.

    The path opens its own short transactions, and must not call the service inside one of the
    request's (cases C20, C22).
    """
    for alias in connections:
        view = non_atomic_requests(using=alias)(view)
    return view


def renew_connections() -> None:
    """Close what is stale or broken, as Django does between requests, for work without requests.

    Django's own `close_old_connections` also closes a connection with an open transaction: in a
    `TestCase` of a merchant's, which is one long transaction, nothing would work after a sweep.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


@contextmanager
def refuse_ended_transaction(using: str) -> Iterator[None]:
    """Raise `DeliveryError` before any statement once SQLite has ended the transaction by itself.

    It rolls all back when the disk is full or fails, and for ON CONFLICT ROLLBACK and
    RAISE(ROLLBACK). If the error is swallowed, the writes after it commit each for itself, and
    the COMMIT that Django sends has nothing to do. The driver knows, so asking costs no query.
    The other databases either refuse what comes next (PostgreSQL) or do not tell their driver.
    """
    connection = connections[using]
    if connection.vendor != "sqlite":
        yield
        return

    def refuse() -> None:
        line: Any = connection.connection
        # A line that was closed under the transaction raises by itself.
        if not connection.closed_in_transaction and not line.in_transaction:
            raise DeliveryError("The database has ended the transaction under the handler.")

    def guarded(execute: Callable[..., Any], *statement: Any) -> Any:
        refuse()
        return execute(*statement)

    with connection.execute_wrapper(guarded):
        yield
    refuse()


def refuse_open_transaction(doing: str) -> None:
    """Raise `OpenTransactionError` if any connection of this thread has an open transaction.

    The wrapper that Django's own TestCase opens does not count, as it does not for `durable`.
    A connection with autocommit off counts: it is one long transaction, with or without a block.
    """
    # A thread that has not asked its database for anything yet knows of no connection.
    connections[DEFAULT_DB_ALIAS]
    for connection in connections.all(initialized_only=True):
        blocks = getattr(connection, "atomic_blocks", [])
        if any(not getattr(block, "_from_testcase", False) for block in blocks):
            raise OpenTransactionError(
                f"{doing} inside an open transaction on {connection.alias!r}: a rollback would "
                "undo what the payer was told. Leave the atomic() block first, or call "
                "confirm_payment_on_commit(reference) inside it."
            )
        if not connection.in_atomic_block and not _commits_by_itself(connection):
            raise OpenTransactionError(
                f"{doing} with autocommit off on {connection.alias!r}: a rollback would undo what "
                "the payer was told. Call set_autocommit(True) first, or take AUTOCOMMIT out of "
                "DATABASES."
            )


def _commits_by_itself(connection: BaseDatabaseWrapper) -> bool:
    if connection.connection is not None:
        return bool(connection.autocommit)
    return bool(connection.settings_dict.get("AUTOCOMMIT", True))
