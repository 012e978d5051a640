"""Checks that MariaDB and MySQL can store every text of the service and of payers."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

__all__ = ["check_charset"]

_LOST = "A payment whose name or texts have other letters could not be saved, or delivered."


@register(Tags.database)
def check_charset(
    app_configs: object, databases: Sequence[str] | None = None, **_kwargs: Any
) -> list[CheckMessage]:
    """E031: the database is not utf8mb4. E032: columns of this app are not. E033: the connection is not.

    Runs with `check --database` and before `migrate`, because it queries the database; only for
    databases that this app reads or writes.
    """
    return [
        message
        for alias in databases or ()
        if connections[alias].vendor == "mysql" and alias in _routed()
        for message in _messages(connections[alias])
    ]


def _routed() -> set[str]:
    models = list(apps.get_app_config("payments_pages").get_models())
    return {route(model) for model in models for route in (router.db_for_write, router.db_for_read)}


def _messages(connection: BaseDatabaseWrapper) -> Iterator[CheckMessage]:
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DATABASE(), @@character_set_database, @@character_set_connection, "
            "@@character_set_client"
        )
        name, of_database, *of_connection = cursor.fetchone()
        if of_database != "utf8mb4":
            hint = f"ALTER DATABASE {quote(name)} CHARACTER SET utf8mb4;"
            yield Error(
                f"The database {name!r} is {of_database}, not utf8mb4. {_LOST}",
                hint=hint,
                id="payments_pages.E031",
            )
        wrong = [charset for charset in of_connection if charset != "utf8mb4"]
        if wrong:
            message = f"The connection {connection.alias!r} is {wrong[0]}, not utf8mb4. {_LOST}"
            yield Error(message, hint='"OPTIONS": {"charset": "utf8mb4"}', id="payments_pages.E033")
        for table, columns in _wrong_columns(cursor).items():
            names = ", ".join(columns)
            message = f"In the table {table!r} these columns are not utf8mb4: {names}. {_LOST}"
            hint = f"ALTER TABLE {quote(table)} CONVERT TO CHARACTER SET utf8mb4;"
            yield Error(message, hint=hint, id="payments_pages.E032")


def _wrong_columns(cursor: Any) -> dict[str, list[str]]:
    """Return this app's tables with text columns that are not utf8mb4, and these columns."""
    models = apps.get_app_config("payments_pages").get_models()
    ours = {model._meta.db_table for model in models}  # noqa: SLF001 - Django documents it
    cursor.execute(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = DATABASE() AND character_set_name <> 'utf8mb4' "
        "ORDER BY table_name, ordinal_position"
    )
    found: dict[str, list[str]] = {}
    for table, column in cursor.fetchall():
        if table in ours:
            found.setdefault(table, []).append(column)
    return found
