"""Come between the path and its database, with errors and rows that the database makes itself."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from tests.conftest import in_thread

__all__ = ["after_our_look", "refused"]

Execute = Callable[..., Any]


@contextmanager
def refused(statement: str) -> Iterator[list[str]]:
    """Let the database refuse our statements with this beginning, by an error that is not a duplicate.

    Their first value becomes a NULL, and no column of ours that comes first takes one. The list
    gets each statement.
    """
    statements: list[str] = []

    def step(execute: Execute, sql: str, params: Any, many: bool, context: Any) -> Any:
        if _plain(sql).startswith(statement):
            statements.append(sql)
            params = (None, *tuple(params)[1:])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(step):
        yield statements
    assert statements, f"no statement began with {statement!r}"


@contextmanager
def after_our_look(table: str, action: Callable[[], Any]) -> Iterator[None]:
    """Let a rival act just after we have read a table, once: what we read is no longer so.

    On SQLite nobody else can write while our transaction is open. There the rival is an earlier
    line of the same transaction, which ends in the same refused INSERT.
    """
    done: list[bool] = []

    def step(execute: Execute, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        plain = _plain(sql)
        if not done and plain.startswith("SELECT") and f"FROM {table} " in plain:
            done.append(True)
            if connection.vendor == "sqlite":
                action()
            else:
                in_thread(action).result(timeout=30)
        return result

    with connection.execute_wrapper(step):
        yield
    assert done, f"nobody read {table!r}"


def _plain(sql: str) -> str:
    return sql.replace(connection.ops.quote_name("x")[0], "")
