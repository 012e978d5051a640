"""Statements compiled once per connection do what the ORM does for the same queryset."""

import datetime as dt
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, connections, models, transaction
from django.db.models import F
from django.db.models.signals import post_save, pre_save
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments_pages.choices import Door, FulfilmentState, Reason, VerificationState
from payments_pages.confirmation.mirror import find_settled
from payments_pages.confirmation.statements import (
    COMPLETE_FULFILMENT,
    INSERT_CLAIMED_VERIFICATION,
    INSERT_EVENT,
    INSERT_TRANSACTION,
    SETTLE_VERIFICATION,
    TRANSACTION_BY_KEY,
    VERIFICATION_BY_KEY,
)
from payments_pages.db import Given, Select, Update, UtcNow
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.references import reference_key

pytestmark = pytest.mark.django_db(transaction=True)

ODD: list[Any] = [None, False, 0, "", "text", [], {}, {"a": [1, None, 1.5]}, "א 'quoted' %s"]


def verification(reference: str = "PPG-1", **fields: Any) -> Verification:
    return Verification(
        reference=reference,
        reference_key=reference_key(reference),
        mode="test",
        state=VerificationState.VERIFYING,
        attempts=1,
        first_door=Door.CALLBACK,
        **fields,
    )


def paid(reference: str = "PPG-1", **fields: Any) -> Transaction:
    return Transaction(
        reference=reference,
        reference_key=reference_key(reference),
        status="success",
        verified_at=timezone.now(),
        **fields,
    )


def insert(row: Verification) -> Verification:
    INSERT_CLAIMED_VERIFICATION.run("default", row, lease=dt.timedelta(seconds=15))
    return row


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_what_is_inserted_is_what_the_orm_reads(value: Any) -> None:
    row = paid(metadata=value, amount=None, log={"x": value}, customer_email="א@example.test")
    INSERT_TRANSACTION.run("default", row)
    found = Transaction.objects.get(pk=row.pk)
    assert (found.metadata, found.log, found.amount) == (value, {"x": value}, None)
    for field in Transaction._meta.concrete_fields:
        assert getattr(found, field.attname) == getattr(row, field.attname), field.name


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_what_the_orm_has_written_is_what_is_read(value: Any) -> None:
    written = paid(metadata=value, amount=2**62)
    written.save()
    found = TRANSACTION_BY_KEY.first("default", key=written.reference_key)
    assert found is not None
    for field in Transaction._meta.concrete_fields:
        assert getattr(found, field.attname) == getattr(written, field.attname), field.name


def test_an_inserted_object_is_as_save_leaves_it() -> None:
    row = insert(verification(page_claim=uuid.uuid4()))
    assert row.pk
    assert not row._state.adding
    assert row._state.db == "default"
    row.vouched = True
    row.save()
    assert Verification.objects.get().vouched is True


def test_what_the_database_evaluated_is_read_when_asked_for() -> None:
    row = insert(verification())
    assert row.get_deferred_fields() == {"next_at", "asked_at", "named_at"}
    assert row.asked_at is not None
    assert row.next_at is not None
    assert dt.timedelta(seconds=14) < row.next_at - row.asked_at < dt.timedelta(seconds=16)
    assert abs(timezone.now() - row.asked_at) < dt.timedelta(minutes=1), "the database's UTC clock"


def test_a_second_row_for_a_key_is_an_integrity_error() -> None:
    insert(verification())
    with pytest.raises(IntegrityError):
        insert(verification())
    assert Verification.objects.count() == 1


def test_an_error_in_a_transaction_spoils_it_as_the_orms_would() -> None:
    insert(verification())
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            insert(verification())
        assert connection.needs_rollback
        transaction.set_rollback(True)


def test_django_signals_go_out_as_for_save() -> None:
    heard: list[tuple[str, bool | None]] = []

    def hear(signal: Any, instance: Any, using: str, **named: Any) -> None:
        assert (using, named["raw"], named["update_fields"]) == ("default", False, None)
        heard.append(("pre" if signal is pre_save else "post", named.get("created")))

    pre_save.connect(hear, sender=Verification)
    post_save.connect(hear, sender=Verification)
    try:
        insert(verification())
    finally:
        pre_save.disconnect(hear, sender=Verification)
        post_save.disconnect(hear, sender=Verification)
    assert heard == [("pre", None), ("post", True)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_several_rows_are_one_statement(count: int) -> None:
    rows = [
        Event(reference_key="k", kind="verified", door=Door.CALLBACK, detail=f"line {number} %")
        for number in range(count)
    ]
    with CaptureQueriesContext(connection) as queries:
        INSERT_EVENT.run_all("default", rows)
    assert len(queries) == 1
    lines = Event.objects.order_by("pk").values_list("detail", flat=True)
    assert list(lines) == [f"line {number} %" for number in range(count)]


def test_an_update_says_how_many_rows_it_has_matched() -> None:
    row = insert(verification())
    assert SETTLE_VERIFICATION.run("default", pk=row.pk, attempt=2) == 0
    assert SETTLE_VERIFICATION.run("default", pk=row.pk, attempt=1) == 1
    assert SETTLE_VERIFICATION.run("default", pk=row.pk, attempt=1) == 0
    assert Verification.objects.get().state == VerificationState.SETTLED


def test_a_statement_is_compiled_once_for_a_connection_and_takes_new_values() -> None:
    built: list[int] = []

    def build() -> Any:
        built.append(1)
        return Verification.objects.filter(reference=Given("reference", models.CharField()))

    select = Select(build)
    for reference in ("A", "B"):
        insert(verification(reference))
    found = [select.first("default", reference=reference) for reference in ("A", "B", "C")]
    assert [row and row.reference for row in found] == ["A", "B", None]
    assert len(built) == 1
    connection.close()
    assert select.first("default", reference="A") == found[0], "a new line to the same server"


def test_a_span_of_time_may_be_given() -> None:
    row = insert(verification())
    later = Update(
        lambda: (
            Verification.objects.filter(pk=Given("pk", models.BigAutoField())),
            {"next_at": UtcNow() + Given("wait", models.DurationField())},
        )
    )
    for days in (1, 30):
        assert later.run("default", pk=row.pk, wait=dt.timedelta(days=days, microseconds=5)) == 1
        next_at = Verification.objects.values_list("next_at", flat=True).get()
        assert abs(next_at - timezone.now() - dt.timedelta(days=days)) < dt.timedelta(minutes=1)


def test_what_hangs_on_a_row_comes_with_it() -> None:
    page = PaymentPage.objects.create(name="Tea box", slug="tea-box", slug_key="s", currency="ILS")
    expected = ExpectedPayment.objects.create(
        reference="PPG-1", reference_key=reference_key("PPG-1"), amount=1, currency="ILS"
    )
    row = paid(page=page, expected_payment=expected)
    row.save()
    Fulfilment.objects.create(
        transaction=row, reference_key=row.reference_key, state=FulfilmentState.PENDING
    )
    with CaptureQueriesContext(connection) as queries:
        found: Any = TRANSACTION_BY_KEY.first("default", key=row.reference_key)
        assert (found.page, found.expected_payment) == (page, expected)
        assert found.fulfilment.transaction is found
        assert not found.delivery_due
    assert len(queries) == 1


def test_of_what_is_settled_the_rest_is_read_at_once() -> None:
    row = paid(amount=10000, currency="ILS", customer_email="payer@example.test")
    row.save()
    Fulfilment.objects.create(
        transaction=row,
        reference_key=row.reference_key,
        state=FulfilmentState.DELIVERED,
        reason=Reason.NONE,
        attempts=3,
    )
    found: Any = find_settled(row.reference_key)
    with CaptureQueriesContext(connection) as queries:
        assert (found.token, found.reference) == (row.token, row.reference)
        assert found.fulfilment.state == FulfilmentState.DELIVERED
        assert len(queries) == 0
        assert (found.amount, found.currency) == (10000, "ILS")
        assert found.customer_email == "payer@example.test"
        assert len(queries) == 1
        assert (found.fulfilment.attempts, found.fulfilment.reason) == (3, Reason.NONE)
        assert len(queries) == 2


def test_nothing_is_none() -> None:
    assert VERIFICATION_BY_KEY.first("default", key="nobody") is None
    assert find_settled("nobody") is None


@pytest.mark.skipif(connection.vendor != "mysql", reason="others lock no gap beside a row")
@pytest.mark.parametrize("statement", [COMPLETE_FULFILMENT, SETTLE_VERIFICATION])
def test_what_begins_a_transaction_finds_its_row_by_the_key_alone(statement: Update) -> None:
    """Of two indexes with one row each InnoDB may take either, as in this table of one row."""
    mirrored = paid()
    mirrored.save()
    stored(mirrored.reference)
    Fulfilment.objects.create(
        transaction=mirrored,
        reference_key=mirrored.reference_key,
        state=FulfilmentState.DELIVERING,
    )
    with CaptureQueriesContext(connection) as queries:
        statement.run(connection.alias, pk=1, attempt=0)
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + queries[0]["sql"])
        names = [column[0] for column in cursor.description]
        plan = dict(zip(names, cursor.fetchone(), strict=True))
    assert plan["key"] == "PRIMARY"
    assert "state" in queries[0]["sql"]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only there do threads share connections")
def test_threads_that_share_a_connection_each_get_their_own_row(
    transactional_db: None,
) -> None:
    """As in a LiveServerTestCase on SQLite in memory."""
    keys = [stored(f"shared-{number}").reference_key for number in range(4)]
    wide = by_key()
    widen(wide._compiled(connections[connection.alias])[2])
    wrong: list[str] = []

    def read(asked: "Select[Verification]", key: str, times: int) -> None:
        for _time in range(times):
            row = asked.first(connection.alias, key=key)
            if row is None or row.reference_key != key:
                wrong.append(key)

    share(*(lambda key=key: read(wide, key, 20) for key in keys))
    assert not wrong
    share(*(lambda key=key: read(VERIFICATION_BY_KEY, key, 1500) for key in keys))
    assert not wrong


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only there do threads share connections")
def test_threads_that_share_a_connection_each_change_and_insert_their_own_row(
    transactional_db: None,
) -> None:
    """The driver would give one thread the other's values (CPython 3.12 and newer)."""
    keys = [stored(f"shared-{number}").reference_key for number in range(4)]
    count_up = Update(
        lambda: (
            Verification.objects.filter(reference_key=Given("key", models.CharField())),
            {"attempts": F("attempts") + 1},
        )
    )

    def change(key: str) -> None:
        for number in range(500):
            assert count_up.run(connection.alias, key=key) == 1
            INSERT_EVENT.run(
                connection.alias, Event(reference_key=key, kind="held", detail=str(number))
            )

    share(*(lambda key=key: change(key) for key in keys))
    assert set(Verification.objects.values_list("attempts", flat=True)) == {500}
    for key in keys:
        told = Event.objects.filter(reference_key=key).values_list("detail", flat=True)
        assert [int(one) for one in told.order_by("pk")] == list(range(500))


def stored(reference: str) -> Verification:
    return Verification.objects.create(
        reference=reference,
        reference_key=reference_key(reference),
        mode="test",
        first_door=Door.CALLBACK,
    )


def by_key() -> "Select[Verification]":
    return Select(
        lambda: Verification.objects.filter(reference_key=Given("key", models.CharField()))
    )


def share(*tasks: Callable[[], None]) -> None:
    """Run tasks at once, each in a thread, all on the connection of this one."""
    shared = connections[connection.alias]
    failures: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        connections[connection.alias] = shared
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - shown below, in the test's own thread
            failures.append(error)

    shared.inc_thread_sharing()
    try:
        threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        shared.dec_thread_sharing()
    for failure in failures:
        raise failure


def widen(objects: Any) -> None:
    """Let a thread rest where another could come in between, before it makes its object."""
    query = objects.queryset.query
    found = query.get_compiler()

    def rest(*_arguments: object, **_named: object) -> Any:
        time.sleep(0.001)
        return found

    query.get_compiler = rest
