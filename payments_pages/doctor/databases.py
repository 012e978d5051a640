"""Examination of how the database keeps transactions apart."""

from collections.abc import Mapping
from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from payments_pages.doctor.checks import complaints, finding_of
from payments_pages.doctor.findings import Finding, right, warning, wrong
from payments_pages.models import Verification, primary_alias

__all__ = ["transactions"]

_TESTED: Final[Mapping[str, frozenset[str]]] = {
    # On PostgreSQL, READ UNCOMMITTED is another name of READ COMMITTED.
    "postgresql": frozenset(
        {"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}
    ),
    "mysql": frozenset({"READ COMMITTED", "REPEATABLE READ"}),
}
"""The isolation levels at which the path was proven (docs/torture.md)."""


def transactions() -> Finding:
    """Say whether the path is proven with the database's isolation, or SQLite's transaction mode."""
    connection = connections[primary_alias(Verification)]
    connection.ensure_connection()
    if not connection.get_autocommit():
        return wrong(
            f"Autocommit is off on the database {connection.alias!r}: nothing can be confirmed.",
            f'Take "AUTOCOMMIT" out of DATABASES[{connection.alias!r}].',
        )
    if connection.vendor == "sqlite":
        journal = _first(connection, "PRAGMA journal_mode")
        return finding_of(complaints({"W003"})) or right(
            f"SQLite begins transactions with IMMEDIATE or EXCLUSIVE; its journal is {journal}."
        )
    level = _isolation(connection)
    if level in _TESTED.get(connection.vendor, ()):
        return right(f"The isolation level of {connection.display_name} is {level}.")
    make = wrong if level == "READ UNCOMMITTED" else warning
    return make(
        f"The isolation level of {connection.display_name} is {level}, at which payments_pages "
        "is not tested.",
        f'Set "isolation_level" in DATABASES[{connection.alias!r}]["OPTIONS"] to read committed.',
    )


def _isolation(connection: BaseDatabaseWrapper) -> str:
    # MariaDB has had MySQL's name of the variable since 11.1.
    statements = {
        "postgresql": "SHOW transaction_isolation",
        "mysql": "SHOW VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')",
    }
    statement = statements.get(connection.vendor)
    found = _first(connection, statement) if statement else "unknown"
    return found.upper().replace("-", " ")


def _first(connection: BaseDatabaseWrapper, statement: str) -> str:
    """Return the last column of the first row."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return str(row[-1]) if row else "unknown"
