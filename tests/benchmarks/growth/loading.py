"""Write a made-up history into the tables, as fast as each database takes rows."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.core.management.color import no_style
from django.db import connections, models, transaction

from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from tests.benchmarks.growth.rows import History, Row

__all__ = ["load"]

AT_ONCE = 1000
_ANALYZE = {"mysql": "ANALYZE TABLE", "postgresql": "VACUUM ANALYZE"}
"""What each server's own housekeeping does in time."""


def load(history: History, *, using: str = "default", events: bool = True) -> None:
    """Write all rows of a history and refresh what the database knows of its tables.

    The tables must not hold rows with its primary keys. PostgreSQL takes them by COPY, the
    others by INSERTs of many rows. Outside a transaction the tables' own indexes are made
    afterwards, sorted, which is quicker than row by row.
    """
    parts: list[tuple[type[models.Model], Iterable[Row]]] = [
        (PaymentPage, history.pages()),
        (Transaction, history.transactions()),
        (Fulfilment, history.fulfilments()),
        (Verification, history.verifications()),
    ]
    if events:
        parts.append((Event, history.events()))
    write = _copy if connections[using].vendor == "postgresql" else _insert
    for model, rows in parts:
        with _without_indexes(model, using), transaction.atomic(using=using):
            write(model, iter(rows), using)
    _refresh([model for model, _rows in parts], using)


@contextmanager
def _without_indexes(model: type[models.Model], using: str) -> Iterator[None]:
    connection = connections[using]
    # MariaDB keeps an index that a foreign key needs, and takes DDL for the end of a transaction.
    if connection.in_atomic_block or connection.vendor == "mysql":
        yield
        return
    with connection.schema_editor() as editor:
        for index in model._meta.indexes:
            editor.remove_index(model, index)
    try:
        yield
    finally:
        with connection.schema_editor() as editor:
            for index in model._meta.indexes:
                editor.add_index(model, index)


def _copy(model: type[models.Model], rows: Iterator[Row], using: str) -> None:
    first = next(rows)
    quote = connections[using].ops.quote_name
    columns = ", ".join(quote(name) for name in first)
    statement = f"COPY {quote(model._meta.db_table)} ({columns}) FROM STDIN"
    with connections[using].cursor() as cursor, cursor.cursor.copy(statement) as copy:
        copy.write_row(list(first.values()))
        for row in rows:
            copy.write_row(list(row.values()))


def _insert(model: type[models.Model], rows: Iterator[Row], using: str) -> None:
    connection = connections[using]
    quote = connection.ops.quote_name
    first = next(rows)
    fields = {field.column: field for field in model._meta.concrete_fields}
    # A column's type says how its values are written; JSON is text already.
    plain = (int, str, bool, type(None))
    adapt = [
        None if isinstance(value, plain) and not _varies(fields[name]) else fields[name]
        for name, value in first.items()
    ]

    def values(row: Row) -> list[Any]:
        return [
            value if field is None or value is None else field.get_db_prep_save(value, connection)
            for field, value in zip(adapt, row.values(), strict=True)
        ]

    marks = ", ".join(["%s"] * len(first))
    columns = ", ".join(quote(name) for name in first)
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({marks})"
    with connection.cursor() as cursor:
        cursor.execute(statement, values(first))
        while chunk := [values(row) for row in islice(rows, AT_ONCE)]:
            cursor.executemany(statement, chunk)


def _varies(field: "models.Field[Any, Any]") -> bool:
    return isinstance(field, models.DateTimeField | models.UUIDField)


def _refresh(tables: list[type[models.Model]], using: str) -> None:
    """Let new rows have new numbers, and the planner see how many rows there are."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables):
            cursor.execute(statement)
        if connection.in_atomic_block:
            return  # MariaDB would commit it
        for model in tables:
            name = connection.ops.quote_name(model._meta.db_table)
            cursor.execute(f"{_ANALYZE.get(connection.vendor, 'ANALYZE')} {name}")
