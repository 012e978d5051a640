"""Clocks that do not agree: the service's by its `Date`, the database's by its own functions."""

import datetime as dt
import re
from typing import Any

import pytest
from django.db import connection

from payments_pages.doctor import Health
from payments_pages.doctor.clocks import TOLERANCE, database_clock, service_clock
from payments_pages.sandbox import Sandbox
from tests.support.front import Front
from tests.unit.client.raw_server import RawServer, answer

pytestmark = pytest.mark.django_db(transaction=True)


def test_they_agree(sandbox: Sandbox) -> None:
    assert service_clock().health is database_clock().health is Health.RIGHT


def test_the_visit_to_the_service_carries_no_key(sandbox: Sandbox, configure: Any) -> None:
    ok = b"HTTP/1.1 401 No\r\nDate: Sun, 29 Nov 2026 10:00:00 GMT\r\nContent-Length: 0\r\n\r\n"
    with RawServer(answer(ok)) as server:
        configure(BASE_URL=f"http://127.0.0.1:{server.port}")
        service_clock()
    assert b"uthorization" not in server.requests[0]


@pytest.mark.parametrize(("seconds", "way"), [(3600, "ahead of"), (-90, "behind")])
def test_another_clock_of_the_service_is_told(
    sandbox: Sandbox, configure: Any, seconds: int, way: str
) -> None:
    with Front(sandbox.base_url.removesuffix("/api"), seconds=seconds) as front:
        configure(BASE_URL=f"{front.url}/api")
        found = service_clock()
    assert found.health is Health.WRONG
    assert way in found.seen
    assert "NTP" in found.advice


def test_a_second_is_no_fault(sandbox: Sandbox, configure: Any) -> None:
    with Front(sandbox.base_url.removesuffix("/api"), seconds=-TOLERANCE + 2) as front:
        configure(BASE_URL=f"{front.url}/api")
        assert service_clock().health is Health.RIGHT


@pytest.mark.parametrize("date", [b"", b"Date: yesterday\r\n"])
def test_an_answer_without_a_date_tells_nothing(
    sandbox: Sandbox, configure: Any, date: bytes
) -> None:
    with RawServer(answer(b"HTTP/1.1 401 No\r\n" + date + b"Content-Length: 0\r\n\r\n")) as server:
        configure(BASE_URL=f"http://127.0.0.1:{server.port}")
        assert service_clock().health is Health.UNKNOWN


def test_a_service_that_is_not_there_tells_nothing(
    sandbox: Sandbox, configure: Any, dead: str
) -> None:
    configure(BASE_URL=dead)
    found = service_clock()
    assert (found.health, "base_url" in found.advice) == (Health.UNKNOWN, True)


def shift_the_databases_clock() -> None:
    """Let this connection's database tell the time of an hour ago."""
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        connection.connection.create_function(
            "strftime",
            -1,
            lambda *_arguments: (
                f"{dt.datetime.now(dt.UTC) - dt.timedelta(hours=1):%Y-%m-%d %H:%M:%S.%f}"
            ),
        )
        return
    statements = {
        "postgresql": (
            "CREATE SCHEMA late",
            """
            CREATE FUNCTION late.statement_timestamp() RETURNS timestamptz LANGUAGE sql AS
            $$ SELECT pg_catalog.statement_timestamp() - interval '1 hour' $$
            """,
            "SET search_path = late, pg_catalog, public",
        ),
        "mysql": ("SET SESSION timestamp = UNIX_TIMESTAMP() - 3600",),
    }
    with connection.cursor() as cursor:
        for statement in statements[connection.vendor]:
            cursor.execute(statement)


@pytest.fixture
def late_database() -> Any:
    shift_the_databases_clock()
    yield
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA late CASCADE")
    connection.close()


@pytest.mark.usefixtures("late_database")
def test_another_clock_of_the_database_is_told() -> None:
    found = database_clock()
    assert found.health is Health.WRONG
    assert re.fullmatch(r"The database's clock is 360\d s behind this machine's\.", found.seen)
