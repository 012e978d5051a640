"""What differs between the databases: passing errors, the clock, open blocks, collations."""

import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    connection,
    connections,
)
from django.db import (
    transaction as db_transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from payments_pages.choices import Door, FulfilmentState, Outcome, VerificationState
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.db import UtcNow, from_now, is_transient, refuse_open_transaction
from payments_pages.exceptions import OpenTransactionError
from payments_pages.models import Fulfilment, PaymentPage, Verification
from payments_pages.references import text_key
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.support.goods.models import Good

at_once = pytest.mark.django_db(transaction=True)
no_pooler = pytest.mark.skipif(
    os.environ.get("TESTS_POOLER") == "1",
    reason="a pooler gives the session to others as it was left",
)

VENDOR = connection.vendor


def page(slug: str) -> PaymentPage:
    return PaymentPage.objects.create(name=slug, slug=slug, slug_key=text_key(slug))


def rename(row: PaymentPage, name: str) -> None:
    PaymentPage.objects.filter(pk=row.pk).update(name=name)


@contextmanager
def impatient() -> Iterator[None]:
    """Wait for a lock as briefly as this database can, on a connection made anew as well."""
    hurry = {
        "sqlite": "PRAGMA busy_timeout = 100",
        "postgresql": "SET lock_timeout = '100ms'",
        "mysql": "SET innodb_lock_wait_timeout = 1",
    }[VENDOR]

    def tell(connection: BaseDatabaseWrapper, **_more: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(hurry)

    tell(connection)
    connection_created.connect(tell)
    try:
        yield
    finally:
        connection_created.disconnect(tell)
        connection.close()


@contextmanager
def locked(row: PaymentPage) -> Iterator[None]:
    """Let another connection hold a row, or on SQLite the whole file."""
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with db_transaction.atomic():
            rename(row, "held")
            taken.set()
            done.wait(20)

    holder = in_thread(hold)
    assert taken.wait(20)
    try:
        yield
    finally:
        done.set()
        holder.result()


def error_of(action: Callable[[], object]) -> DatabaseError | InterfaceError:
    with pytest.raises((DatabaseError, InterfaceError)) as caught:
        action()
    error = caught.value
    assert isinstance(error, DatabaseError | InterfaceError)
    return error


@at_once
def test_waiting_too_long_for_a_lock_is_transient() -> None:
    row = page("a")
    with locked(row), impatient():
        error = error_of(lambda: rename(row, "mine"))
    assert is_transient(error), repr(error)
    expected = {"sqlite": "locked", "postgresql": "lock timeout", "mysql": "1205"}
    assert expected[VENDOR] in str(error)


@at_once
def test_a_deadlock_is_transient() -> None:
    """Two connections that take the same two rows in opposite order; SQLite has no row locks."""
    first, second = page("a"), page("b")
    meet = threading.Barrier(2)

    def cross(one: PaymentPage, other: PaymentPage) -> DatabaseError | None:
        try:
            with db_transaction.atomic():
                rename(one, "mine")
                with suppress(threading.BrokenBarrierError):
                    meet.wait(0.5)
                rename(other, "mine")
        except DatabaseError as error:
            return error
        return None

    rivals = [in_thread(lambda: cross(first, second)), in_thread(lambda: cross(second, first))]
    errors = [error for rival in rivals if (error := rival.result()) is not None]
    assert len(errors) == (0 if VENDOR == "sqlite" else 1)
    assert all(is_transient(error) for error in errors), errors


@at_once
def test_a_line_cut_by_the_server_is_transient() -> None:
    kills = {
        "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%s)"),
        "mysql": ("SELECT CONNECTION_ID()", "KILL %s"),
    }
    if VENDOR == "sqlite":
        connection.ensure_connection()
        connection.connection.close()
        # No server, no line: a closed file is a fault of the program.
        assert not is_transient(error_of(PaymentPage.objects.count))
    else:
        who, kill = kills[VENDOR]
        with connection.cursor() as cursor:
            cursor.execute(who)
            number = cursor.fetchone()[0]

        def cut() -> None:
            with connections["default"].cursor() as cursor:
                cursor.execute(kill, [number])

        in_thread(cut).result()
        assert is_transient(error_of(PaymentPage.objects.count))
    connection.close()


@at_once
def test_faults_are_not_transient() -> None:
    row = page("a")

    def missing_table() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM no_such_locked_busy_table")

    def missing_column() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT no_such_column FROM payments_pages_event")

    def duplicate() -> None:
        PaymentPage.objects.create(name="b", slug=row.slug, slug_key=row.slug_key)

    for fault in (missing_table, missing_column, duplicate):
        assert not is_transient(error_of(fault)), fault
    assert not is_transient(ValueError("locked"))
    assert not is_transient(IntegrityError("database is locked"))


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


class Coded(Exception):
    """An error of psycopg's shape."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__("words")
        self.sqlstate = sqlstate


class CodedByPsycopg2(Exception):
    """An error of psycopg2's shape."""

    def __init__(self, pgcode: str | None) -> None:
        super().__init__("words")
        self.pgcode = pgcode


@pytest.mark.parametrize("driver", [Coded, CodedByPsycopg2])
@pytest.mark.parametrize(
    ("state", "transient"),
    [("40001", True), ("40P01", True), ("55P03", True), ("57P01", True), ("08006", True),
     ("57014", True), ("53300", True), (None, True), ("42P01", False), ("23505", False),
     ("25006", True), ("25P03", True), ("25P04", True), ("53100", True), ("53200", True),
     ("22003", False), ("25P02", False), ("25001", False), ("XX000", False)],
)  # fmt: skip
def test_postgresqls_states_whichever_driver_tells_them(
    driver: Callable[[str | None], Exception], state: str | None, transient: bool
) -> None:
    assert is_transient(caused(OperationalError(), driver(state))) is transient


@pytest.mark.parametrize(
    ("number", "transient"),
    [(1205, True), (1213, True), (1020, True), (2006, True), (2013, True), (1040, True),
     (1053, True), (1927, True), (1021, True), (1047, True), (1114, True), (1129, True),
     (1158, True), (1159, True), (1160, True), (1161, True), (1180, True), (1184, True),
     (1203, True), (1226, True), (1290, True), (1317, True), (1792, True), (1836, True),
     (3101, True), (1045, False), (1364, False), (1146, False), (1062, False), (1406, False), (1054, False)],
)  # fmt: skip
def test_mariadbs_and_mysqls_numbers(number: int, transient: bool) -> None:
    assert is_transient(caused(OperationalError(), Exception(number, "words"))) is transient


def test_sqlites_own_errors() -> None:
    assert not is_transient(caused(InterfaceError(), sqlite3.InterfaceError("bad parameter")))
    assert not is_transient(caused(OperationalError(), sqlite3.OperationalError("locked, busy")))
    assert not is_transient(caused(ProgrammingError(), sqlite3.ProgrammingError("closed")))


class SqliteError(sqlite3.OperationalError):
    """An error of the engine's, with its extended code."""

    def __init__(self, code: int) -> None:
        super().__init__("words")
        self.sqlite_errorcode = code


@pytest.mark.parametrize(
    ("code", "transient"),
    [(sqlite3.SQLITE_BUSY, True), (sqlite3.SQLITE_BUSY_SNAPSHOT, True),
     (sqlite3.SQLITE_READONLY, True), (sqlite3.SQLITE_READONLY_DBMOVED, True),
     (sqlite3.SQLITE_FULL, True), (sqlite3.SQLITE_IOERR_WRITE, True),
     (sqlite3.SQLITE_CANTOPEN, True), (sqlite3.SQLITE_ERROR, False),
     (sqlite3.SQLITE_CORRUPT, False), (sqlite3.SQLITE_CONSTRAINT, False)],
)  # fmt: skip
def test_sqlites_codes(code: int, transient: bool) -> None:
    assert is_transient(caused(OperationalError(), SqliteError(code))) is transient


@contextmanager
def read_only() -> Iterator[None]:
    """Be what a server is that has just become another one's replica."""
    with connection.cursor() as cursor:
        if VENDOR == "sqlite":
            cursor.execute("PRAGMA query_only = 1")
        elif VENDOR == "postgresql":
            cursor.execute("SET default_transaction_read_only = on")
        else:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
    try:
        yield
    finally:
        if VENDOR == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA query_only = 0")
        connection.close()


@no_pooler
@at_once
def test_a_read_only_server_is_told_as_unavailable_at_every_door_and_tried_once(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    reference = sandbox.pay("tea-box")
    writes: list[str] = []

    def count(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE")):
            writes.append(sql)
        return execute(sql, *rest)

    callback = reverse("payments_pages:page-callback", args=[tea_box.token])
    with read_only():
        with connection.execute_wrapper(count):
            came_back = client.get(callback, {"reference": reference})
        asked = client.post(
            reverse("payments_pages:confirm"),
            {"reference": reference},
            content_type="application/json",
        )
    assert len(writes) == 1, "a second try at once would meet the same server"
    assert came_back.status_code == HTTPStatus.OK, "we cannot confirm right now"
    assert asked.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert asked.json()["outcome"] == Outcome.UNAVAILABLE
    assert caplog.text.count("confirmation.database_busy") == 2
    assert confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token).outcome is (
        Outcome.DELIVERED
    )


@no_pooler
@at_once
def test_a_server_that_becomes_read_only_before_the_delivery_leaves_it_to_the_sweep(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    configure(HANDLER="tests.support.goods.handlers.give")
    with read_only():
        told = confirm_payment(reference, door=Door.CALLBACK).outcome
    assert told is Outcome.UNAVAILABLE
    assert not Good.objects.exists()
    let_time_pass(61)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == 1


@at_once
def test_a_locked_database_is_told_as_unavailable_and_the_sweep_goes_on(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """A transient error anywhere in the path is neither an error page nor "delivered"."""
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.WEBHOOK)
    row = Verification.objects.get()
    release, taken = threading.Event(), threading.Event()

    def hold() -> None:
        with db_transaction.atomic():
            Verification.objects.filter(pk=row.pk).update(last_error="")
            taken.set()
            release.wait(20)

    holder = in_thread(hold)
    assert taken.wait(20)
    with impatient():
        told = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    release.set()
    holder.result()
    assert told.outcome is Outcome.UNAVAILABLE
    assert told.retry_after == 5
    assert confirm_payment(
        reference, door=Door.CALLBACK, page_token=tea_box.token
    ).outcome is Outcome.DELIVERED  # fmt: skip


# The clock


@contextmanager
def zone(offset: str) -> Iterator[None]:
    """Set the session's zone, where there is one; a server east of Greenwich has such a one."""
    with connection.cursor() as cursor:
        if VENDOR == "mysql":
            cursor.execute("SET time_zone = %s", [offset])
        elif VENDOR == "postgresql":
            cursor.execute("SELECT set_config('TimeZone', %s, false)", [offset])
    try:
        yield
    finally:
        connection.close()


@at_once
@pytest.mark.parametrize("offset", ["+03:00", "-11:00", "+00:00"])
def test_the_databases_clock_is_utc_whatever_the_sessions_zone(offset: str) -> None:
    row = page("a")
    with zone(offset):
        PaymentPage.objects.update(synced_at=UtcNow())
        row.refresh_from_db()
        assert row.synced_at is not None
        assert abs(row.synced_at - timezone.now()) < timedelta(seconds=5)


@at_once
@pytest.mark.parametrize("offset", ["+03:00", "-11:00"])
def test_leases_and_due_times_hold_whatever_the_sessions_zone(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any, offset: str
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always", LEASE=60)
    with zone(offset):
        sandbox.pay("tea-box", reference="PPG-1")
        confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token)
        row = Fulfilment.objects.get()
        assert row.next_at is not None
        assert 5 < (row.next_at - timezone.now()).total_seconds() < 20
        assert not Fulfilment.objects.due().exists()
        let_time_pass(20)
        assert Fulfilment.objects.due().exists()
        Verification.objects.update(state=VerificationState.VERIFYING, next_at=from_now(15))
        Fulfilment.objects.update(state=FulfilmentState.DELIVERING, next_at=from_now(60))
        assert not Verification.objects.due().exists()
        assert not Fulfilment.objects.due().exists()
        let_time_pass(61)
        configure(HANDLER="tests.support.goods.handlers.give")
        assert sweep_due().outcomes[Outcome.DELIVERED] == 1
        assert Good.objects.count() == 1
        delivered_at = Fulfilment.objects.get().delivered_at
        assert delivered_at is not None
        assert abs(delivered_at - timezone.now()) < timedelta(seconds=5)


@pytest.mark.django_db
def test_from_now_counts_seconds_both_ways() -> None:
    row = page("a")
    for seconds in (90, -90, 0.5):
        PaymentPage.objects.filter(pk=row.pk).update(synced_at=from_now(seconds))
        row.refresh_from_db()
        assert row.synced_at is not None
        distance = (row.synced_at - timezone.now()).total_seconds()
        assert abs(distance - seconds) < 5


# Keys and blocks


def test_a_key_is_one_of_its_parts_only() -> None:
    keys = {
        text_key(*parts)
        for parts in (
            ("test", "abc-1"), ("test", "ABC-1"), ("test", "abc-1 "), ("test", "ábc-1"),
            ("live", "abc-1"), ("test", "abc", "-1"), ("testabc-1",), ("test",),
        )
    }  # fmt: skip
    assert len(keys) == 8
    assert all(len(key) == 64 and key.isascii() for key in keys)


@pytest.mark.django_db
def test_the_wrapper_of_a_test_case_is_no_open_transaction() -> None:
    assert connection.in_atomic_block
    refuse_open_transaction("Nothing")
    with db_transaction.atomic(), pytest.raises(OpenTransactionError, match="'default'"):
        refuse_open_transaction("Something")


@at_once
def test_an_open_transaction_is_refused_by_name() -> None:
    refuse_open_transaction("Nothing")
    with db_transaction.atomic(), pytest.raises(OpenTransactionError) as caught:
        refuse_open_transaction("Something was done")
    assert str(caught.value).startswith("Something was done inside an open transaction")
    refuse_open_transaction(str(uuid.uuid4()))


@at_once
@pytest.mark.parametrize("spoken", [False, True])
def test_a_connection_without_autocommit_is_refused_and_told_what_to_do(
    tea_box: PaymentPage, sandbox: Sandbox, spoken: bool
) -> None:
    """All would seem well, and a rollback would take it back: no block is open, ever."""
    reference = sandbox.pay("tea-box")
    db_transaction.set_autocommit(False)
    try:
        if spoken:
            assert PaymentPage.objects.count() == 1
        with pytest.raises(OpenTransactionError, match="autocommit off on 'default'") as caught:
            confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
        assert "set_autocommit(True)" in str(caught.value)
        with db_transaction.atomic(), pytest.raises(OpenTransactionError, match="open transaction"):
            refuse_open_transaction("Something")
    finally:
        db_transaction.rollback()
        db_transaction.set_autocommit(True)
    told = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert told.outcome is Outcome.DELIVERED


@at_once
def test_a_connection_that_would_open_without_autocommit_is_refused_before_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def first_call() -> None:
        monkeypatch.setitem(connections.settings[DEFAULT_DB_ALIAS], "AUTOCOMMIT", False)
        with pytest.raises(OpenTransactionError, match="take AUTOCOMMIT out of DATABASES"):
            refuse_open_transaction("Something")

    in_thread(first_call).result()
    monkeypatch.undo()
    in_thread(lambda: refuse_open_transaction("Nothing")).result()
