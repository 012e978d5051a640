"""Make an empty database for each site, and drop it afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["SQLITE", "new_database"]

SQLITE = "sqlite"


@contextmanager
def new_database(address: str, name: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield `DATABASES["default"]` of an empty database: "sqlite", or on a PostgreSQL server.

    SQLite is set up as Django's documentation advises for a site: WAL, IMMEDIATE. Connections
    are kept, on both.
    """
    if address == SQLITE:
        yield {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(folder / f"{name}.sqlite3"),
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }
        return
    parts = urlsplit(address)
    base = {
        "ENGINE": "django.db.backends.postgresql",
        "USER": unquote(parts.username or "postgres"),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "127.0.0.1",
        "PORT": str(parts.port or 5432),
        "CONN_MAX_AGE": None,
    }
    database = f"bench_{name}".replace("-", "_").replace(" ", "_")
    _execute(base, f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')
    _execute(base, f'CREATE DATABASE "{database}"')
    try:
        yield {**base, "NAME": database}
    finally:
        _execute(base, f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')


def server_version(address: str) -> str:
    """Name the database and its version."""
    if address == SQLITE:
        import sqlite3

        return f"SQLite {sqlite3.sqlite_version}"
    parts = urlsplit(address)
    base = {
        "USER": unquote(parts.username or "postgres"),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "127.0.0.1",
        "PORT": str(parts.port or 5432),
    }
    return f"PostgreSQL {_execute(base, 'SHOW server_version').split()[0]}"


def _execute(base: dict[str, Any], statement: str) -> str:
    import psycopg

    with psycopg.connect(
        host=base["HOST"],
        port=base["PORT"],
        user=base["USER"],
        password=base["PASSWORD"],
        dbname="postgres",
        autocommit=True,
    ) as connection:
        cursor = connection.execute(statement)  # type: ignore[arg-type]  # our own words
        row = cursor.fetchone() if cursor.description else None
        return str(row[0]) if row else ""
