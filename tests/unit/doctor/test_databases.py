"""Isolation and transaction mode, as the connection itself has them."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connection

from payments_pages.doctor import Health
from payments_pages.doctor.databases import transactions

pytestmark = pytest.mark.django_db(transaction=True)

on_sqlite = pytest.mark.skipif(
    settings.DATABASES["default"]["ENGINE"] != "django.db.backends.sqlite3", reason="SQLite's"
)
on_servers = pytest.mark.skipif(
    settings.DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3", reason="servers'"
)


@pytest.fixture(autouse=True)
def connection_of_its_own() -> Iterator[None]:
    connection.close()
    yield
    connection.close()


def set_isolation(level: str) -> None:
    statement = {
        "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL",
        "mysql": "SET SESSION TRANSACTION ISOLATION LEVEL",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(f"{statement} {level}")


def test_the_suites_database_is_right_unless_it_is_deferred_on_purpose() -> None:
    assert transactions().health is Health.RIGHT


@on_sqlite
def test_deferred_transactions_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "SILENCED_SYSTEM_CHECKS", [])
    monkeypatch.setattr(
        settings, "DATABASES", {"default": {"ENGINE": "django.db.backends.sqlite3"}}
    )
    found = transactions()
    assert (found.health, "IMMEDIATE" in found.advice) == (Health.WARNING, True)


@on_servers
@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
def test_the_levels_that_the_path_is_proven_at_are_right(level: str) -> None:
    set_isolation(level)
    assert transactions().seen.endswith(f"is {level}.")
    assert transactions().health is Health.RIGHT


@on_servers
def test_a_level_that_reads_what_is_not_committed_is_wrong_where_there_is_one() -> None:
    set_isolation("READ UNCOMMITTED")
    harmless = connection.vendor == "postgresql"  # there it is another name of READ COMMITTED
    assert transactions().health is (Health.RIGHT if harmless else Health.WRONG)


def test_autocommit_that_is_off_is_told() -> None:
    connection.set_autocommit(False)
    found = transactions()
    assert (found.health, "AUTOCOMMIT" in found.advice) == (Health.WRONG, True)
