"""Statements compiled once per connection do what the ORM does for the same queryset."""

import datetime as dt
import tomllib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.db.models.signals import post_save, pre_save
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments_pages.choices import Door, FulfilmentState, Reason, VerificationState
from payments_pages.confirmation import statements
from payments_pages.confirmation.mirror import find_settled
from payments_pages.confirmation.statements import (
    COMPLETE_FULFILMENT,
    INSERT_CLAIMED_VERIFICATION,
    INSERT_DELIVERED_EVENT,
    INSERT_EVENT,
    INSERT_TRANSACTION,
    SETTLE_VERIFICATION,
    TRANSACTION_BY_KEY,
    VERIFICATION_BY_KEY,
)
from payments_pages.db import READ_AGAINST, Select, Update, UtcNow
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

    def build(reference: Any) -> Any:
        built.append(1)
        return Verification.objects.filter(reference=reference)

    select = Select(build, reference=models.CharField())
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
        lambda pk, wait: (
            Verification.objects.filter(pk=pk),
            {"next_at": UtcNow() + wait},
        ),
        pk=models.BigAutoField(),
        wait=models.DurationField(),
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
    """In a table of one row, InnoDB may choose either of two indexes."""
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


@contextmanager
def plain() -> Iterator[None]:
    """Run the statements as plain querysets, as on a connection that Django shares in a live server."""
    connection.inc_thread_sharing()
    try:
        yield
    finally:
        connection.dec_thread_sharing()


@pytest.fixture
def select_that_counts() -> tuple["Select[Verification]", list[Any]]:
    """A select, and the values that its queryset was built with."""
    built: list[Any] = []

    def build(key: Any) -> Any:
        built.append(key)
        return Verification.objects.filter(reference_key=key)

    return Select(build, key=models.CharField()), built


def test_on_a_connection_that_threads_share_nothing_is_kept_for_the_next(
    select_that_counts: tuple["Select[Verification]", list[Any]],
) -> None:
    """In a LiveServerTestCase on SQLite in memory, one thread would otherwise get another's row."""
    select, built = select_that_counts
    row = insert(verification())
    with plain():
        for _time in range(3):
            assert select.first("default", key=row.reference_key) == row
    assert built == [row.reference_key] * 3


def test_on_a_django_that_nobody_has_read_the_plain_queryset_runs(
    monkeypatch: pytest.MonkeyPatch,
    select_that_counts: tuple["Select[Verification]", list[Any]],
) -> None:
    select, built = select_that_counts
    row = insert(verification())
    monkeypatch.setattr("payments_pages.db.compiled.READ_AGAINST", frozenset())
    assert select.first("default", key=row.reference_key) == row
    assert built == [row.reference_key]


def test_the_djangos_that_were_read_are_those_that_the_package_names() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    prefix = "Framework :: Django :: "
    named = {
        tuple(map(int, line.removeprefix(prefix).split(".")))
        for line in project["classifiers"]
        if line.startswith(prefix)
    }
    assert named == READ_AGAINST


PAGE = uuid.uuid4()
PAYMENT = uuid.uuid4()
KEY = reference_key("PPG-1")
LEASE = dt.timedelta(seconds=60)

STATEMENTS: list[tuple[str, dict[str, Any]]] = [
    ("VERIFICATION_BY_KEY", {"key": KEY}),
    ("VERIFICATION_BY_KEY", {"key": "nobody"}),
    ("TRANSACTION_BY_KEY", {"key": KEY}),
    ("TRANSACTION_BY_KEY", {"key": reference_key("without fulfilment")}),
    ("TRANSACTION_BY_KEY", {"key": "nobody"}),
    ("SETTLED_BY_KEY", {"key": KEY}),
    ("SETTLED_BY_KEY", {"key": "nobody"}),
    ("TRANSACTION_BY_TOKEN", {"token": PAYMENT}),
    ("TRANSACTION_BY_TOKEN", {"token": uuid.uuid4()}),
    ("EXPECTED_BY_KEY", {"key": KEY}),
    ("EXPECTED_BY_KEY", {"key": "nobody"}),
    ("PAGE_BY_TOKEN", {"token": PAGE}),
    ("PAGE_BY_TOKEN", {"token": uuid.uuid4()}),
    ("PAGE_OF_CALLBACK", {"token": PAGE, "key": KEY}),
    ("PAGE_OF_CALLBACK", {"token": PAGE, "key": "nobody"}),
    ("PAGE_OF_CALLBACK", {"token": uuid.uuid4(), "key": KEY}),
    ("INSERT_CLAIMED_VERIFICATION", {"reference": "new", "lease": LEASE}),
    ("INSERT_CLAIMED_VERIFICATION", {"reference": "PPG-1", "lease": LEASE}),
    ("INSERT_SIGNED_VERIFICATION", {"reference": "new", "lease": LEASE}),
    ("INSERT_SIGNED_VERIFICATION", {"reference": "PPG-1", "lease": LEASE}),
    ("INSERT_TRANSACTION", {"reference": "new"}),
    ("INSERT_TRANSACTION", {"reference": "PPG-1"}),
    ("INSERT_ACCEPTED_FULFILMENT", {"reference": "without fulfilment", "lease": LEASE}),
    ("INSERT_ACCEPTED_FULFILMENT", {"reference": "PPG-1", "lease": LEASE}),
    ("INSERT_DELIVERED_FULFILMENT", {"reference": "without fulfilment"}),
    ("INSERT_DELIVERED_FULFILMENT", {"reference": "PPG-1"}),
    ("INSERT_EVENT", {"details": ["one"]}),
    ("INSERT_EVENT", {"details": ["one", "two %s"]}),
    ("INSERT_DELIVERED_EVENT", {"attempt": 1}),
    ("INSERT_DELIVERED_EVENT", {"attempt": 2}),
    ("SETTLE_VERIFICATION", {"attempt": 1}),
    ("SETTLE_VERIFICATION", {"attempt": 1, "refreshed": True}),
    ("SETTLE_VERIFICATION", {"attempt": 2}),
    ("COMPLETE_FULFILMENT", {"attempt": 1}),
    ("COMPLETE_FULFILMENT", {"attempt": 2}),
]


def test_each_statement_is_compared_with_its_plain_form() -> None:
    assert {name for name, _values in STATEMENTS} == set(statements.__all__)


@pytest.mark.parametrize(("name", "values"), STATEMENTS)
def test_compiled_and_plain_give_the_same_result_and_rows(
    name: str, values: dict[str, Any]
) -> None:
    compiled = outcome(name, dict(values))
    with plain():
        assert_same(outcome(name, dict(values)), compiled)


def outcome(name: str, values: dict[str, Any]) -> Any:
    """Run a statement over the same rows; return what came of it, and roll it back."""
    sent: list[Any] = []

    def receive(signal: Any, sender: Any, instance: Any, **named: Any) -> None:
        sent.append((signal is pre_save, sender, instance.pk is None, sorted(named.items())))

    with transaction.atomic():
        start = dt.datetime.now(dt.UTC)
        rows = prepare(refreshed=values.pop("refreshed", False))
        for signal in (pre_save, post_save):
            signal.connect(receive)
        try:
            with CaptureQueriesContext(connection) as queries, transaction.atomic():
                result = run(name, values, rows)
        except IntegrityError as error:
            result = type(error)
        finally:
            for signal in (pre_save, post_save):
                signal.disconnect(receive)
        found = [
            [described(row, start) for row in model.objects.order_by("pk")]
            for model in (Verification, Transaction, Fulfilment, Event)
        ]
        transaction.set_rollback(True)
    return described(result, start), found, sent, len(queries)


def prepare(*, refreshed: bool) -> dict[str, Any]:
    page = PaymentPage.objects.create(
        name="Tea box", slug="tea-box", slug_key="s", currency="ILS", token=PAGE
    )
    expected = ExpectedPayment.objects.create(
        reference="PPG-1", reference_key=KEY, amount=1, currency="ILS", page=page
    )
    asked = verification(refresh_attempt=1 if refreshed else 0, last_error="late")
    asked.save()
    payment = paid(page=page, expected_payment=expected, metadata={"a": [1, "א"]}, token=PAYMENT)
    payment.save()
    paid("without fulfilment", token=uuid.UUID(int=1)).save()
    fulfilment = Fulfilment(
        transaction=payment,
        reference_key=KEY,
        state=FulfilmentState.DELIVERING,
        attempts=1,
        next_at=timezone.now() - LEASE,
    )
    fulfilment.save()
    return {"verification": asked, "fulfilment": fulfilment}


def run(name: str, values: dict[str, Any], rows: dict[str, Any]) -> Any:
    """Return what the statement gives; of an insert, the objects."""
    statement: Any = getattr(statements, name)
    if isinstance(statement, Select):
        return statement.first("default", **values)
    if isinstance(statement, Update):
        row = rows["verification" if statement is SETTLE_VERIFICATION else "fulfilment"]
        return statement.run("default", pk=row.pk, **values)
    if statement is INSERT_DELIVERED_EVENT:
        pk = rows["fulfilment"].pk
        Fulfilment.objects.filter(pk=pk).update(state=FulfilmentState.DELIVERED)
        line = Event(kind="delivered", door=Door.CALLBACK)
        statement.run_all("default", [line], pk=pk, **values)
        return line
    if statement is INSERT_EVENT:
        lines = [
            Event(reference_key=KEY, kind="held", door=Door.CALLBACK, detail=detail)
            for detail in values["details"]
        ]
        statement.run_all("default", lines)
        statement.run("default", one := Event(reference_key=KEY, kind="held", door=Door.CALLBACK))
        return [*lines, one]
    row = new_row(name, values.pop("reference"))
    statement.run("default", row, **values)
    assert row.pk == type(row).objects.latest("pk").pk
    return row


def new_row(name: str, reference: str) -> Any:
    if "VERIFICATION" in name:
        return verification(reference)
    if name == "INSERT_TRANSACTION":
        return paid(reference, metadata=[None, {"א": 1.5}], amount=2**62, token=uuid.UUID(int=2))
    key = reference_key(reference)
    return Fulfilment(
        transaction=Transaction.objects.get(reference_key=key),
        reference_key=key,
        state=FulfilmentState.DELIVERING,
        attempts=1,
    )


def described(value: Any, start: dt.datetime) -> Any:
    """Describe an object by its fields and related objects, without numbers that differ by run."""
    if isinstance(value, dt.datetime):
        return (value - start).total_seconds()
    if isinstance(value, list):
        return [described(item, start) for item in value]
    if not isinstance(value, models.Model):
        return value
    facts: dict[str, Any] = {
        "adding": value._state.adding,
        "database": value._state.db,
        "deferred": sorted(value.get_deferred_fields()),
        "delivery_due": vars(value).get("delivery_due"),
    }
    for field in value._meta.concrete_fields:
        if field.is_relation or field.primary_key or field.attname in facts["deferred"]:
            continue
        facts[field.name] = described(getattr(value, field.attname), start)
    for name, related in value._state.fields_cache.items():
        facts[name] = related and (type(related), sorted(related.get_deferred_fields()))
    return facts


def assert_same(one: Any, other: Any) -> None:
    """Compare; seconds may differ by the time that the test itself takes."""
    if isinstance(one, float) and isinstance(other, float):
        assert one == pytest.approx(other, abs=4)
    elif isinstance(one, list | tuple) and type(one) is type(other):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_same(left, right)
    elif isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_same(one[name], other[name])
    else:
        assert one == other


def stored(reference: str) -> Verification:
    return Verification.objects.create(
        reference=reference,
        reference_key=reference_key(reference),
        mode="test",
        first_door=Door.CALLBACK,
    )
