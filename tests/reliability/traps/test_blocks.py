"""Traps 5 to 8: what goes wrong in, around and after a transaction; and the false guards."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction as db_transaction

import payments_pages
from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.client import TransactionResource
from payments_pages.confirmation import (
    confirm_payment,
    confirm_payment_on_commit,
    delivery,
    inbox,
    recording,
    sweep_due,
    verification,
)
from payments_pages.exceptions import OpenTransactionError
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment
from tests.reliability.crash.points import Points
from tests.reliability.traps.interference import after_our_look
from tests.support.goods.models import Good

at_once = pytest.mark.django_db(transaction=True)
PACKAGE = Path(payments_pages.__file__).parent
NO_GUARDS = re.compile(r"ignore_conflicts|select_for_update|update_or_create|\.get_or_create\(")
"""INSERT IGNORE truncates and hides faults on MariaDB; FOR UPDATE is nothing at all on SQLite;
the others read first, and then know what is no longer so."""


def test_none_of_the_false_guards_is_used() -> None:
    found = [
        f"{path.name}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        # Groups of staff: no payment hangs on them. A look whether a row is free, before the guard.
        if path.name not in {"roles.py", "row_locks.py"}
        for line in path.read_text(encoding="utf-8").splitlines()
        if NO_GUARDS.search(line)
    ]
    assert found == []


@at_once
def test_trap_5_a_rivals_row_does_not_spoil_the_callers_transaction(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Without a savepoint around our INSERT the caller's next query would be refused."""
    sandbox.pay("tea-box", reference="PPG-5")
    key = reference_key("PPG-5")

    def rival() -> None:
        inbox.remember("PPG-5", key, door=Door.WEBHOOK)

    with db_transaction.atomic():
        expect_payment("PPG-5")
        with after_our_look("payments_pages_verification", rival):
            confirm_payment_on_commit("PPG-5")
        assert PaymentPage.objects.count() == 1
        PaymentPage.objects.update(description="and a write")
    assert PaymentPage.objects.get().description == "and a write"
    assert Verification.objects.count() == Good.objects.count() == 1


@at_once
def test_trap_6_a_fenced_off_answer_touches_one_row_and_inserts_nothing(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Two that both insert are a deadlock on MariaDB: only the winner of the fence inserts."""
    reference = sandbox.pay("tea-box")
    claim = win_claim(reference)
    Verification.objects.update(attempts=2)
    points = Points()
    with points.watch():
        late = record(claim, sandbox, reference)
    assert late is None
    assert [point for point in points.seen if not point.startswith(("BEGIN", "COMMIT"))] == [
        "UPDATE payments_pages_verification"
    ]
    assert not Transaction.objects.exists()


@at_once
def test_trap_7_the_path_refuses_to_begin_in_somebody_elses_transaction(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Our own error, that names the way out; nothing was asked or written before it."""
    reference = sandbox.pay("tea-box")
    points = Points()
    with (
        db_transaction.atomic(),
        points.watch(),
        pytest.raises(
            OpenTransactionError, match=r"confirm_payment_on_commit\(reference\)"
        ) as told,
    ):
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    # Whoever has set it may not know that each view is a transaction.
    assert "ATOMIC_REQUESTS" in str(told.value)
    assert "@transaction.non_atomic_requests" in str(told.value)
    assert points.seen == []
    assert sandbox.verify_calls() == 0


@at_once
def test_trap_7_an_answer_is_not_recorded_in_somebody_elses_transaction(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Django's refusal: the block is durable. A rollback around it would undo the record."""
    reference = sandbox.pay("tea-box")
    claim = win_claim(reference)
    with db_transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        record(claim, sandbox, reference)
    assert Verification.objects.get().state == "verifying"
    for model in (Transaction, Fulfilment, Event):
        assert not model.objects.exists(), model


@at_once
def test_trap_7_nothing_is_delivered_in_somebody_elses_transaction(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    """The same of the delivery: the handler is not called, and why is on the row."""
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    configure(HANDLER=f"{__name__}.noted")
    Fulfilment.objects.update(state=FulfilmentState.DELIVERING, last_error="")
    row = Fulfilment.objects.select_related("transaction").get()
    called.clear()
    with db_transaction.atomic():
        assert delivery.deliver(row, door=Door.SWEEP) is Outcome.DELIVERY_FAILED
    assert called == []
    row.refresh_from_db()
    assert row.state == FulfilmentState.FAILED
    assert re.match("RuntimeError: .*durable", row.last_error)
    assert row.delivered_at is None
    let_time_pass(7200)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert called == [reference]


@at_once
def test_trap_8_a_hook_that_fails_before_ours_loses_nothing(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Django skips the hooks after one that raises: the note in the transaction remains."""
    expect_payment("PPG-8")
    sandbox.pay("tea-box", reference="PPG-8")

    def fail() -> None:
        raise OSError("the mail server is down")

    def order() -> None:
        with db_transaction.atomic():
            db_transaction.on_commit(fail)
            confirm_payment_on_commit("PPG-8")

    with pytest.raises(OSError, match="mail server"):
        order()
    assert not Good.objects.exists()
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


called: list[str] = []


def noted(fulfilment: Fulfilment) -> None:
    """Count the calls of this handler where no rollback can undo the count."""
    called.append(fulfilment.transaction.reference)


def win_claim(reference: str) -> verification.Claim:
    """Win the right to ask about a reference never seen."""
    _row, claim = verification.receive(
        reference, reference_key(reference), door=Door.WEBHOOK, page_hint=None, vouched=True
    )
    assert claim is not None
    return claim


def record(
    claim: verification.Claim, sandbox: Sandbox, reference: str
) -> recording.Recorded | None:
    """Write down what the service says, under a claim."""
    return recording.record(
        claim,
        TransactionResource.from_payload(sandbox.transaction(reference) or {}),
        key=reference_key(reference),
        existing=None,
        page_hint=None,
        door=Door.WEBHOOK,
    )
