"""A database ends the transaction while a handler runs in it, and accepts further statements."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.db import transient
from payments_pages.models import Event, Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_held
from payments_pages.testing import let_time_pass
from tests.support.goods.handlers import give
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="SQLite's own ways")
on_innodb = pytest.mark.skipif("connection.vendor != 'mysql'", reason="DDL commits there")

Buy = Callable[..., Outcome]


@pytest.fixture
def buy(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> Buy:
    """Pay for the tea box and confirm it, with a handler of this module."""

    def run(handler: str) -> Outcome:
        configure(HANDLER=f"{__name__}.{handler}")
        sandbox.pay("tea-box", reference="PPG-1")
        return confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token).outcome

    return run


def run_sql(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


# Rolled back


def swallow_a_rollback(fulfilment: Fulfilment) -> None:
    """Give the goods as a handler does that has caught the error of a deadlock."""
    if fulfilment.attempts == 1:
        run_sql("ROLLBACK")
    give(fulfilment)


def undo_the_mark(fulfilment: Fulfilment) -> None:
    """Write to the row what only the path may write."""
    give(fulfilment)
    if fulfilment.attempts == 1:
        Fulfilment.objects.filter(pk=fulfilment.pk).update(state=FulfilmentState.PENDING)


def begin_another_attempt(fulfilment: Fulfilment) -> None:
    give(fulfilment)
    if fulfilment.attempts == 1:
        Fulfilment.objects.filter(pk=fulfilment.pk).update(attempts=7)


def swallow_a_conflict(fulfilment: Fulfilment) -> None:
    if fulfilment.attempts == 1:
        with suppress(DatabaseError):
            run_sql("INSERT OR ROLLBACK INTO goods_good (id, reference) VALUES (1, NULL)")
    give(fulfilment)


def swallow_a_trigger(fulfilment: Fulfilment) -> None:
    """The rollback also removes the trigger, which the same transaction has created."""
    if fulfilment.attempts == 1:
        run_sql(
            "CREATE TEMP TRIGGER sold_out BEFORE INSERT ON goods_good "
            "BEGIN SELECT RAISE(ROLLBACK, 'sold out'); END"
        )
        with suppress(DatabaseError):
            # Not by the ORM, which forbids the transaction's owner to go on after an error.
            run_sql("INSERT INTO goods_good (reference, key, attempt) VALUES ('PPG-1', 'k', 1)")
    give(fulfilment)


def swallow_a_full_disk(fulfilment: Fulfilment) -> None:
    """Write more than the database may grow by and than is free in it."""
    if fulfilment.attempts == 1:
        with connection.cursor() as cursor:
            (pages,) = cursor.execute("PRAGMA page_count").fetchone()
            (free,) = cursor.execute("PRAGMA freelist_count").fetchone()
            (size,) = cursor.execute("PRAGMA page_size").fetchone()
            cursor.execute(f"PRAGMA max_page_count = {pages}")
            try:
                with pytest.raises(DatabaseError, match="full"):
                    cursor.execute(
                        "INSERT INTO goods_good (reference, key, attempt) "
                        f"VALUES (hex(zeroblob({(free + 2) * size})), 'big', 1)"
                    )
            finally:
                connection.connection.execute("PRAGMA max_page_count = 1000000")
    give(fulfilment)


def swallow_it_in_a_savepoint(fulfilment: Fulfilment) -> None:
    if fulfilment.attempts == 1:
        with suppress(Exception), transaction.atomic():
            run_sql("INSERT OR ROLLBACK INTO goods_good (id, reference) VALUES (1, NULL)")
    give(fulfilment)


def swallow_everything(fulfilment: Fulfilment) -> None:
    """Catch the error with which we refuse to go on, too."""
    with suppress(Exception):
        swallow_a_conflict(fulfilment)


def swallow_it_last(fulfilment: Fulfilment) -> None:
    """Give first, and say nothing to the database after the error."""
    give(fulfilment)
    if fulfilment.attempts == 1:
        with suppress(DatabaseError):
            run_sql("INSERT OR ROLLBACK INTO goods_good (id, reference) VALUES (1, NULL)")


@pytest.mark.parametrize(
    "handler",
    [
        "swallow_a_rollback",
        "undo_the_mark",
        "begin_another_attempt",
        *(
            pytest.param(name, marks=on_sqlite)
            for name in (
                "swallow_a_conflict",
                "swallow_a_trigger",
                "swallow_a_full_disk",
                "swallow_it_in_a_savepoint",
                "swallow_everything",
                "swallow_it_last",
            )
        ),
    ],
)
def test_a_mark_that_was_lost_takes_the_goods_with_it(handler: str, buy: Buy) -> None:
    assert buy(handler) is Outcome.DELIVERY_FAILED
    assert Good.objects.count() == 0
    assert Fulfilment.objects.get().state == FulfilmentState.FAILED
    let_time_pass(61)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == 1


def forgive_a_conflict(fulfilment: Fulfilment) -> None:
    """Lose one statement only: so SQLite handles a violated constraint by default."""
    with suppress(DatabaseError):
        run_sql("INSERT INTO goods_good (id, reference) VALUES (1, NULL)")
    give(fulfilment)


@on_sqlite
def test_an_error_that_ends_no_transaction_is_the_handlers_own_matter(buy: Buy) -> None:
    assert buy("forgive_a_conflict") is Outcome.DELIVERED
    assert Good.objects.count() == 1


def close_the_line(fulfilment: Fulfilment) -> None:
    if fulfilment.attempts == 1:
        connection.close()
    give(fulfilment)


def test_a_line_that_the_handler_closes_delivers_nothing(buy: Buy) -> None:
    first = buy("close_the_line")
    if first is Outcome.DELIVERED:  # SQLite in memory: Django closes nothing there
        assert connection.vendor == "sqlite"
    else:
        assert first is Outcome.DELIVERY_FAILED
        assert Good.objects.count() == 0
        let_time_pass(61)
        assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == 1


# Committed


def commit_and_fail(fulfilment: Fulfilment) -> None:
    """Commit as a DDL statement does on InnoDB; on other databases by an explicit commit."""
    run_sql("COMMIT")
    raise RuntimeError("no luck for layla@example.com")


def change_tables_and_fail(fulfilment: Fulfilment) -> None:
    run_sql("CREATE TABLE goods_tenant (id int)", "DROP TABLE goods_tenant")
    raise RuntimeError("no luck")


def change_tables_give_and_fail(fulfilment: Fulfilment) -> None:
    """Open a transaction after the implicit commit, so that the commit cannot be detected."""
    run_sql("CREATE TABLE goods_tenant (id int)", "DROP TABLE goods_tenant")
    give(fulfilment)
    raise RuntimeError("no luck")


def change_tables_and_meet_a_deadlock(fulfilment: Fulfilment) -> None:
    run_sql("CREATE TABLE goods_tenant (id int)", "DROP TABLE goods_tenant")
    raise OperationalError(1213, "Deadlock found when trying to get lock")


@pytest.mark.parametrize(
    "handler",
    [
        "commit_and_fail",
        *(
            pytest.param(name, marks=on_innodb)
            for name in (
                "change_tables_and_fail",
                "change_tables_give_and_fail",
                "change_tables_and_meet_a_deadlock",
            )
        ),
    ],
)
def test_a_mark_that_was_committed_before_the_handler_failed_is_held_for_a_person(
    handler: str, buy: Buy, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transient, "_PAUSES", (0, 0, 0))
    told: list[str] = []

    def hear(fulfilment: Fulfilment, **_named: Any) -> None:
        told.append(fulfilment.state)

    fulfilment_held.connect(hear)
    try:
        assert buy(handler) is Outcome.HELD
    finally:
        fulfilment_held.disconnect(hear)
    row = Fulfilment.objects.get()
    assert (row.state, row.reason) == (FulfilmentState.HELD, Reason.PERMANENT_ERROR)
    assert (row.delivered_at, row.next_at) == (None, None)
    assert row.last_error
    assert told == ["held"]
    assert Good.objects.count() == 0
    (record,) = [one for one in caplog.records if one.levelno == logging.CRITICAL]
    assert record.getMessage().startswith("fulfilment.committed_early: PPG-1: ")
    assert Event.objects.filter(kind="held").count() == 1
    let_time_pass(61)
    assert sweep_due().taken == 0, "a second run could give twice"


def fail_after_commit(fulfilment: Fulfilment) -> None:
    """Write, and let an `on_commit` hook raise a short-lived database error."""

    def send_mail() -> None:
        raise OperationalError(2006, "the mail's own database has gone away")

    give(fulfilment)
    transaction.on_commit(send_mail)


def test_a_passing_error_after_the_commit_is_told(
    buy: Buy, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next try finds the delivery made; the hook's error must not change the result."""
    monkeypatch.setattr(transient, "_PAUSES", (0, 0, 0))
    assert buy("fail_after_commit") is Outcome.DELIVERED
    assert Good.objects.count() == 1
    (record,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert record.getMessage().startswith("fulfilment.error_after_delivery: PPG-1: Operational")
    assert "gone away" in record.getMessage()
    assert vars(record)["attempt"] == 1
