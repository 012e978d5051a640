"""The file is streamed: in constant memory, outside of a transaction, and it says if it broke off."""

import gc
import itertools
import logging
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from payments_pages.models import Transaction
from payments_pages.staff import write_csv
from payments_pages.staff.export.csv_file import INCOMPLETE
from payments_pages.staff.export.payments import CHUNK
from tests.unit.admin.export.downloads import (
    EXPORT,
    rows_of,
)
from tests.unit.admin.payments import many

pytestmark = pytest.mark.django_db


def peak(pieces: Iterable[bytes]) -> int:
    """The most memory, in bytes, that reading it all took on top of what was there."""
    gc.collect()
    tracemalloc.start()
    try:
        for _piece in pieces:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("payments_pages.staff.export.payments.CHUNK", 200)
    many(600)
    few = peak(write_csv(Transaction.objects.all(), customers_shown=True))
    many(3000)
    lots = peak(write_csv(Transaction.objects.all(), customers_shown=True))
    most = few * 1.2
    assert lots < most
    # The measure can fail: a file that is collected first grows with its rows.
    collected = peak(map(b"".join, [write_csv(Transaction.objects.all(), customers_shown=True)]))
    assert collected > most


def test_the_first_rows_leave_before_the_last_are_read(staff: Client) -> None:
    many(2 * CHUNK + 1)
    with CaptureQueriesContext(connection) as queries:
        pieces = iter(staff.post(EXPORT).streaming_content)
        list(itertools.islice(pieces, 2))
        reads = [query for query in queries if f"LIMIT {CHUNK}" in query["sql"]]
        assert len(reads) == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_under_asgi_it_is_streamed_too() -> None:
    from asgiref.sync import async_to_sync

    many(2 * CHUNK + 1)
    user = User.objects.create_superuser("staff")

    async def read() -> list[bytes]:
        client = AsyncClient()
        await client.aforce_login(user)
        response = await client.post(EXPORT)
        assert response.is_async
        return [piece async for piece in response.streaming_content]

    pieces = async_to_sync(read)()
    assert len(pieces) == 1 + 3
    assert len(rows_of(b"".join(pieces))) == 2 * CHUNK + 1


def test_an_export_that_breaks_off_says_so_in_its_last_row_and_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("payments_pages.staff.export.payments.CHUNK", 5)
    many(12)
    statements = itertools.count()

    def fail(execute: Any, sql: str, *arguments: Any) -> Any:
        if next(statements) == 2:
            raise ConnectionResetError("the server went away")
        return execute(sql, *arguments)

    pieces: list[bytes] = []
    with connection.execute_wrapper(fail), pytest.raises(ConnectionResetError):
        pieces.extend(write_csv(Transaction.objects.all()))
    lines = b"".join(pieces).decode().splitlines()
    assert len(lines) == 1 + 10 + 1
    assert lines[-1] == INCOMPLETE
    (record,) = [r for r in caplog.records if r.message.startswith("export.broke_off")]
    assert record.levelno == logging.ERROR
    assert record.error == "ConnectionResetError"  # type: ignore[attr-defined]


def test_a_download_that_the_person_cancels_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    many(3)
    pieces = write_csv(Transaction.objects.all())
    assert isinstance(pieces, Iterator)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert not [r for r in caplog.records if "export" in r.name]


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_rows_leave(staff: Client) -> None:
    before = connection.settings_dict["ATOMIC_REQUESTS"]
    connection.settings_dict["ATOMIC_REQUESTS"] = True
    try:
        many(2)
        response = staff.post(EXPORT)
        assert not connection.in_atomic_block
        assert len(rows_of(b"".join(response.streaming_content))) == 2
    finally:
        connection.settings_dict["ATOMIC_REQUESTS"] = before
