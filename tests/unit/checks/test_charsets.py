"""A MariaDB or MySQL that cannot hold every letter is found before a payment is (S8)."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection

from payments_pages import checks

only_there = pytest.mark.skipif(
    connection.vendor != "mysql", reason="other databases hold every letter, or none of them"
)
at_once = pytest.mark.django_db(transaction=True)
IDS = "payments_pages.E03"


@pytest.fixture
def database() -> Iterator[Callable[[str], str]]:
    """Make a database of another character set beside the suite's own."""
    made = f"{connection.settings_dict['NAME']}_charset"

    def make(charset: str) -> str:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {made}")
            cursor.execute(f"CREATE DATABASE {made} CHARACTER SET {charset}")
        return made

    yield make
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {made}")


def manage(name: str, *words: str) -> tuple[int, str]:
    """Run a command on that database, as people do."""
    done = subprocess.run(
        [sys.executable, "-m", "django", *words],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.support.settings",
            "TESTS_DATABASE_NAME": name,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


@only_there
@at_once
@pytest.mark.parametrize("charset", ["latin1", "utf8mb3", "cp1256"])
def test_a_database_of_another_character_set_is_an_error_with_the_line_that_mends_it(
    database: Callable[[str], str], charset: str
) -> None:
    name = database(charset)
    code, told = manage(name, "check", "--database", "default")
    assert (code, told.count("payments_pages.E0")) == (1, 1)
    assert "payments_pages.E031" in told
    assert charset in told
    line = f"ALTER DATABASE `{name}` CHARACTER SET utf8mb4;"
    assert line in told
    assert manage(name, "check")[0] == 0, "a check that was not told to asks no database"
    code, told = manage(name, "migrate", "payments_pages")
    assert (code, "payments_pages.E031" in told) == (1, True), "before there are any tables"
    with connection.cursor() as cursor:
        cursor.execute(line)
    assert manage(name, "check", "--database", "default")[0] == 0


@only_there
@at_once
def test_columns_of_another_character_set_are_named_with_the_lines_that_mend_them(
    database: Callable[[str], str],
) -> None:
    name = database("latin1")
    assert manage(name, "migrate", "--skip-checks", "payments_pages")[0] == 0
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE `{name}` CHARACTER SET utf8mb4")
    code, told = manage(name, "check", "--database", "default")
    assert (code, "payments_pages.E031" in told) == (1, False)
    assert "'payments_pages_transaction'" in told
    assert "customer_email" in told
    lines = [line for line in told.splitlines() if "ALTER TABLE" in line]
    assert len(lines) == told.count("payments_pages.E032") >= 6
    with connection.cursor() as cursor:
        cursor.execute(f"USE `{name}`")
        try:
            for line in lines:
                cursor.execute(line.removeprefix("\tHINT: "))
        finally:
            cursor.execute(f"USE `{connection.settings_dict['NAME']}`")
    code, told = manage(name, "check", "--database", "default")
    assert (code, told) == (0, told)


@only_there
@at_once
def test_a_connection_of_another_character_set_is_an_error() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET NAMES latin1")
    try:
        found = [m for m in run_checks(databases=["default"]) if (m.id or "").startswith(IDS)]
    finally:
        connection.close()
    assert [message.id for message in found] == ["payments_pages.E033"]
    assert "charset" in str(found[0].hint)


@at_once
def test_the_suites_own_database_has_nothing_to_complain_of() -> None:
    call_command("check", databases=["default"])
    assert [m for m in run_checks(databases=["default"]) if (m.id or "").startswith(IDS)] == []


class Elsewhere:
    """Keep this app's rows in another database."""

    def db_for_read(self, model: type, **_hints: Any) -> str:
        return "archive"

    db_for_write = db_for_read


@only_there
@at_once
def test_a_database_that_holds_no_row_of_ours_is_not_asked(settings: Any) -> None:
    """It may be an old one of the site's, in whatever character set."""
    settings.DATABASE_ROUTERS = ["tests.unit.checks.test_charsets.Elsewhere"]
    with connection.cursor() as cursor:
        cursor.execute("SET NAMES latin1")
    try:
        assert checks.check_charset(None, databases=["default"]) == []
        settings.DATABASE_ROUTERS = []
        assert len(checks.check_charset(None, databases=["default"])) == 1
    finally:
        connection.close()
