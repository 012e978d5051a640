"""A run is on the set-up that it was asked for: isolation, journal, how a transaction begins.

`tests/reliability/test-databases` claims eleven of them; an option that no server heeds would make two one.
"""

import os
import sqlite3
from contextlib import closing

import pytest
from django.db import connection, transaction

pytestmark = pytest.mark.django_db(transaction=True)

ISOLATION = os.environ.get("TESTS_ISOLATION", "")
JOURNAL = os.environ.get("TESTS_SQLITE") or "wal"


def ask(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return str(cursor.fetchone()[-1]).lower()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL names it in this way")
def test_postgresql_has_the_isolation_outside_of_transactions_too() -> None:
    wanted = ISOLATION or "read committed"
    assert ask("SHOW transaction_isolation") == wanted
    with transaction.atomic():
        assert ask("SHOW transaction_isolation") == wanted


@pytest.mark.skipif(connection.vendor != "mysql", reason="MariaDB names it in this way")
def test_mariadb_has_the_isolation() -> None:
    wanted = {"": "read committed", "snapshot": "repeatable read"}.get(ISOLATION, ISOLATION)
    # MariaDB's name for it until 11.1, and the name since then.
    names = "('tx_isolation', 'transaction_isolation')"
    found = ask(f"SHOW SESSION VARIABLES WHERE Variable_name IN {names}")
    assert found == wanted.replace(" ", "-")
    assert ask("SELECT @@innodb_snapshot_isolation") == ("1" if ISOLATION == "snapshot" else "0")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite has such a journal")
def test_sqlite_has_the_journal_and_begins_as_asked() -> None:
    assert ask("PRAGMA journal_mode") == ("wal" if JOURNAL in {"wal", "deferred"} else "delete")
    with (
        transaction.atomic(),
        closing(sqlite3.connect(connection.settings_dict["NAME"], timeout=0)) as beside,
    ):
        try:
            beside.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            locked = True
        else:
            locked = False
    assert locked == (JOURNAL in {"wal", "immediate"})


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has no pooler")
def test_a_pooler_is_there_when_it_was_asked_for() -> None:
    pooled = os.environ.get("TESTS_POOLER") == "1"
    assert (str(connection.settings_dict["PORT"]) == os.environ.get("POOLER_PORT", "16432")) == (
        pooled
    )
