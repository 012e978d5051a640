"""Open transactions: code that must not run inside one, and code that must notice its end."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import (
    DEFAULT_DB_ALIAS,
    connections,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import non_atomic_requests

from payments_pages.exceptions import DeliveryError, OpenTransactionError

__all__ = [
    "outside_transactions",
    "refuse_ended_transaction",
    "refuse_open_transaction",
    "refuse_open_transaction_around_loop",
    "renew_connections",
]

View = TypeVar("View", bound=Callable[..., Any])


def outside_transactions(view: View) -> View:
    """Exempt a view from `ATOMIC_REQUESTS` on every database.

    The path opens its own short transactions, and must not call the service inside one of the
    request's (docs/cases.md C20, C22).
    """
    for alias in connections:
        view = non_atomic_requests(using=alias)(view)
    return view


def renew_connections() -> None:
    """Close old and broken connections, as Django does between requests, for work without requests.

    Django's own `close_old_connections` also closes a connection with an open transaction: in a
    merchant's `TestCase`, which is one long transaction, nothing would work after a sweep.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


@contextmanager
def refuse_ended_transaction(using: str) -> Iterator[None]:
    """Raise `DeliveryError` before any statement once SQLite has ended the transaction by itself.

    SQLite rolls back by itself when the disk is full or fails, and for ON CONFLICT ROLLBACK and
    RAISE(ROLLBACK). If the handler swallows the error, each later write commits alone, and Django's
    COMMIT has nothing to do. The driver knows the state, so this costs no query. PostgreSQL refuses
    the next statement itself; MariaDB and MySQL do not tell their driver.
    """
    connection = connections[using]
    if connection.vendor != "sqlite":
        yield
        return

    def refuse() -> None:
        line: Any = connection.connection
        # A connection that was closed inside the transaction raises by itself.
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

    The block that Django's own TestCase opens does not count, as it does not for `durable`. A
    connection with autocommit off counts: it is one long transaction.
    """
    # A thread that has not used its database yet has no connection in the list.
    connections[DEFAULT_DB_ALIAS]
    for connection in connections.all(initialized_only=True):
        blocks = getattr(connection, "atomic_blocks", [])
        if any(not getattr(block, "_from_testcase", False) for block in blocks):
            raise OpenTransactionError(
                f"{doing} inside an open transaction on {connection.alias!r}: a rollback would "
                "undo what the payer was told. Leave the atomic() block first, or call "
                "confirm_payment_on_commit(reference) inside it. With ATOMIC_REQUESTS every view "
                "is such a block: decorate this one with @transaction.non_atomic_requests."
            )
        if not connection.in_atomic_block and not _commits_by_itself(connection):
            raise OpenTransactionError(
                f"{doing} with autocommit off on {connection.alias!r}: a rollback would undo what "
                "the payer was told. Call set_autocommit(True) first, or take AUTOCOMMIT out of "
                "DATABASES."
            )


def refuse_open_transaction_around_loop(doing: str) -> None:
    """Do the same for a coroutine: raise if the code that runs its event loop is in a transaction.

    While a loop runs, Django gives its thread other connections. Without the loop, as here for a
    moment, it gives those of the code around `asyncio.run()`.
    """
    loop = asyncio.get_running_loop()
    asyncio._set_running_loop(None)  # noqa: SLF001 - in `asyncio.__all__`, made for event loops
    try:
        refuse_open_transaction(doing)
    finally:
        asyncio._set_running_loop(loop)  # noqa: SLF001 - as above


def _commits_by_itself(connection: BaseDatabaseWrapper) -> bool:
    if connection.connection is not None:
        return bool(connection.autocommit)
    return bool(connection.settings_dict.get("AUTOCOMMIT", True))
