"""Empty the tables between tests, quickly.

Django empties them by its command `flush`. On PostgreSQL that is a TRUNCATE of every table, which
takes half a second where a DELETE of a few rows takes some milliseconds; and after it Django makes
the content types and permissions anew, which no test of ours has changed.
"""

from django.core.management.color import no_style
from django.db import connections, transaction
from django.test import TransactionTestCase

__all__ = ["empty_quickly"]

KEPT = frozenset({"django_content_type", "auth_permission"})
"""Tables that stay: what the migrations of the apps have put there."""


def empty_quickly() -> None:
    """Let tests with `transaction=True` end by a DELETE from each table, in one transaction."""
    TransactionTestCase._fixture_teardown = _delete_rows  # type: ignore[method-assign]


def _delete_rows(case: TransactionTestCase) -> None:
    for alias in case._databases_names(include_mirrors=False):  # type: ignore[attr-defined]
        connection = connections[alias]
        names = connection.introspection.django_table_names(only_existing=True, include_views=False)
        tables = sorted(set(names) - KEPT)
        if connection.vendor != "postgresql":
            flush = connection.ops.sql_flush(no_style(), tables)
            connection.ops.execute_sql_flush(flush)
            continue
        # Foreign keys are looked at when the transaction ends: the order does not matter.
        with transaction.atomic(using=alias), connection.cursor() as cursor:
            # A serializable one may be undone because of transactions that have just ended.
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            for table in tables:
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")
