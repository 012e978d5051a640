"""The page about production: its lines for the servers are carried out by them."""

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection, connections

from payments_pages.conf import conf
from tests.support.guide_pages import GuidePage

PAGE = GuidePage("production.md")
SERVERS = {"postgresql": "postgresql", "mysql": "mariadb"}
NAME = f"shop_pages_{os.getpid()}"
on_server = pytest.mark.skipif(
    connection.vendor not in SERVERS, reason="DATABASE_URL names no PostgreSQL and no MariaDB"
)


SETTINGS = {"postgresql": "postgresql-settings", "mariadb": "mariadb-settings"}


def statements(kind: str) -> list[str]:
    return [line.strip() for line in PAGE.snippet(kind, "sql").split(";") if line.strip()]


def database(kind: str) -> dict[str, Any]:
    os.environ.setdefault("DATABASE_PASSWORD", "change-me")
    names = PAGE.run(SETTINGS[kind], os=os)
    return dict(names["DATABASES"]["default"])


@pytest.mark.parametrize("kind", sorted(SERVERS.values()))
def test_the_settings_use_the_names_of_the_statements(kind: str) -> None:
    text = PAGE.snippet(kind, "sql")
    config = database(kind)
    assert f"CREATE DATABASE {config['NAME']} " in text
    assert re.search(rf"CREATE (ROLE|USER) {config['USER']}\b", text)
    assert config["CONN_HEALTH_CHECKS"] is True
    assert 0 < config["CONN_MAX_AGE"] < 8 * 3600
    assert "password" not in text.lower() or "change-me" in text


def test_an_idle_transaction_may_last_longer_than_a_lease() -> None:
    (minutes,) = re.findall(r"idle_in_transaction_session_timeout = '(\d+)min'",
                            PAGE.snippet("postgresql", "sql"))  # fmt: skip
    assert int(minutes) * 60 > conf.lease


@pytest.fixture
def own_database(django_db_blocker: Any) -> Iterator[str]:
    """A database that was made by the page's statements, under the alias "shop"."""
    kind = SERVERS[connection.vendor]

    def renamed(text: str) -> str:
        return re.sub(r"\bshop\b", NAME, text)

    def run(texts: list[str]) -> None:
        with connection.cursor() as cursor:
            for text in texts:
                cursor.execute(text)

    drop = {
        "postgresql": [f"DROP DATABASE IF EXISTS {NAME}", f"DROP ROLE IF EXISTS {NAME}"],
        "mariadb": [f"DROP DATABASE IF EXISTS {NAME}",
                    *(f"DROP USER IF EXISTS {NAME}@'{host}'" for host in ("localhost", "127.0.0.1"))],
    }[kind]  # fmt: skip
    with django_db_blocker.unblock():
        run(drop)
        texts = [renamed(text) for text in statements(kind)]
        if kind == "mariadb":  # over TCP the server may know the client by its address
            texts += [text.replace("localhost", "'127.0.0.1'") for text in texts[1:]]
        run(texts)
        config = {
            **connection.settings_dict,
            **database(kind),
            "NAME": NAME,
            "USER": NAME,
            "PASSWORD": "change-me",
            "HOST": connection.settings_dict["HOST"],
            "PORT": connection.settings_dict["PORT"],
        }
        connections.settings["shop"] = config
        connections["shop"] = connections.create_connection("shop")
        try:
            yield "shop"
        finally:
            connections["shop"].close()
            del connections["shop"]
            del connections.settings["shop"]
        run(drop)


class ToShop:
    """A router that keeps everything in that database."""

    def db_for_read(self, model: Any, **_hints: Any) -> str:
        return "shop"

    db_for_write = db_for_read


def read(alias: str, text: str) -> str:
    with connections[alias].cursor() as cursor:
        cursor.execute(text)
        return str(cursor.fetchone()[0])


@on_server
@pytest.mark.django_db(transaction=True)
def test_the_server_has_what_the_page_says(own_database: str, settings: Any) -> None:
    if connection.vendor == "postgresql":
        assert read(own_database, "SHOW statement_timeout") == "30s"
        assert read(own_database, "SHOW lock_timeout") == "5s"
        assert read(own_database, "SHOW idle_in_transaction_session_timeout") == "2min"
        assert read(own_database, "SHOW transaction_isolation") == "read committed"
        assert read(own_database, "SHOW server_encoding") == "UTF8"
        return
    assert "STRICT_TRANS_TABLES" in read(own_database, "SELECT @@sql_mode")
    assert read(own_database, "SELECT @@innodb_lock_wait_timeout") == "5"
    assert read(own_database, "SELECT @@character_set_database") == "utf8mb4"
    isolation = read(own_database, "SELECT @@tx_isolation")
    assert isolation == "READ-COMMITTED"
    assert int(read(own_database, "SELECT @@global.wait_timeout")) == 8 * 3600
    settings.DATABASE_ROUTERS = [f"{__name__}.ToShop"]
    found = {message.id for message in run_checks(tags=["database"], databases=[own_database])}
    assert not found & {f"payments_pages.E0{number}" for number in (31, 32, 33)}
    assert "mysql.W002" not in found


@on_server
@pytest.mark.django_db(transaction=True)
def test_a_migration_may_take_longer_by_the_page_s_line(
    own_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "postgresql":
        return  # the line is for PostgreSQL alone
    (options,) = re.findall(r'`PGOPTIONS="([^"]+)" \S+ migrate`', PAGE.text)
    monkeypatch.setenv("PGOPTIONS", options)
    assert read(own_database, "SHOW statement_timeout") == "0"
