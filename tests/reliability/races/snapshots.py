"""Read, within a transaction, only what was committed before it: on MariaDB and PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db import transaction as db_transaction

__all__ = ["snapshot", "snapshots"]


@contextmanager
def snapshot() -> Iterator[None]:
    """Open one transaction at REPEATABLE READ; nothing of it outlives the transaction.

    A level of the session would leak to others through a pooler.
    """
    with db_transaction.atomic():
        if connection.vendor != "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


@contextmanager
def snapshots() -> Iterator[None]:
    """Let every transaction that this thread opens in the block be at REPEATABLE READ.

    On PostgreSQL the driver says so in each BEGIN, which a pooler understands; no pooler stands
    before MariaDB here, and its session ends with the block.
    """
    connection.ensure_connection()
    if connection.vendor == "postgresql":
        from psycopg import IsolationLevel

        driver: Any = connection.connection
        driver.isolation_level = IsolationLevel.REPEATABLE_READ
    elif connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    try:
        yield
    finally:
        connection.close()
