"""A notice that comes while a rival asks about the payment, or just after, is not lost."""

import datetime as dt
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction as db_transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason, VerificationState
from payments_pages.confirmation import (
    confirm_payment,
    confirm_payment_on_commit,
    rivals,
    sweep_due,
    verification,
)
from payments_pages.confirmation.due import forget_unknown
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.support.door_behaviour import at_once, pay
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

DAY = 24 * 3600


def webhook(reference: str, *, refresh: bool = False) -> Outcome:
    return confirm_payment(reference, door=Door.WEBHOOK, vouched=True, refresh=refresh).outcome


def callback(reference: str, page: PaymentPage) -> Outcome:
    return confirm_payment(
        reference, door=Door.CALLBACK, page_token=page.token, client_ip="192.0.2.7"
    ).outcome


def meanwhile(sandbox: Sandbox, action: Callable[[], Any]) -> list[Any]:
    """Call a function once while the service is being asked; return the list that gets its result."""
    results: list[Any] = []
    sandbox.faults.add(
        operation="verify",
        kind="run",
        function=lambda: results.append(in_thread(action).result()),
        times=1,
    )
    return results


def wait_for(rows: Callable[[], QuerySet[Any]]) -> None:
    """Wait until a rival has written what makes such a row."""
    until = time.monotonic() + 20
    while not rows().exists():
        assert time.monotonic() < until
        time.sleep(0.01)


# A signed message that loses the claim


def test_a_signed_word_counts_though_the_payer_has_just_asked(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    assert callback("PPG-1", tea_box) is Outcome.UNKNOWN
    webhook("PPG-1")
    assert Verification.objects.get().vouched
    let_time_pass(DAY + 3600)
    assert forget_unknown() == 0
    sandbox.pay("tea-box", reference="PPG-1")
    sweep_due()
    assert Good.objects.count() == 1


def test_a_signed_word_counts_while_the_payers_own_ask_is_under_way(
    tea_box: PaymentPage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 0.0)
    results = meanwhile(sandbox, lambda: webhook("PPG-1"))
    callback("PPG-1", tea_box)
    assert results
    row = Verification.objects.get()
    assert (row.vouched, row.attempts) == (True, 1)


@pytest.mark.parametrize("state", [VerificationState.UNKNOWN, VerificationState.LAPSED])
def test_the_merchants_word_takes_up_what_was_given_up(
    state: VerificationState,
    tea_box: PaymentPage,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its process dies between the commit and the call: the sweep must take it."""
    assert callback("PPG-1", tea_box) is Outcome.UNKNOWN
    Verification.objects.update(state=state, next_at=None)
    sandbox.pay("tea-box", reference="PPG-1")
    with db_transaction.atomic():
        confirm_payment_on_commit("PPG-1")
        db_transaction.get_connection().run_on_commit.clear()
    row = Verification.objects.get()
    assert (row.state, row.vouched) == (VerificationState.DUE, True)
    let_time_pass(60)
    sweep_due()
    assert Good.objects.count() == 1


# Several trusted callers at once


def test_an_answer_asked_for_after_this_caller_is_new_enough_although_others_come_later(
    tea_box: PaymentPage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rival asks; this caller names the reference and waits. By then the next attempt has ended,
    and somebody else has named the reference, too.
    """
    pay(sandbox, reference="PPG-1")
    assert callback("PPG-1", tea_box) is Outcome.DELIVERED
    rows = Verification.objects.filter(reference_key=reference_key("PPG-1"))
    hour = dt.timedelta(hours=1)
    rows.update(state=VerificationState.VERIFYING, attempts=7, next_at=timezone.now() + hour)
    wait = verification.await_rival

    def go_on(key: str, *, has_lock: bool) -> Verification | None:
        assert rows.filter(named_attempt=7).exists()
        rows.update(state=VerificationState.DUE, attempts=8, named_attempt=8)
        return wait(key, has_lock=has_lock)

    monkeypatch.setattr(verification, "await_rival", go_on)
    assert webhook("PPG-1", refresh=True) is Outcome.ALREADY_DELIVERED
    assert sandbox.verify_calls("PPG-1") == 1


def test_everybody_who_asks_again_at_once_is_answered(
    tea_box: PaymentPage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 30.0)  # the computer may be busy
    for _payment in range(10):
        reference = pay(sandbox)
        found = at_once([lambda named=reference: webhook(named, refresh=True)] * 8)
        assert set(found) <= set(Outcome.given())
    assert Good.objects.count() == 10


# A refund


def test_a_refund_just_after_the_last_ask_is_asked_about_at_once(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference="PPG-1")
    assert callback("PPG-1", tea_box) is Outcome.DELIVERED
    sandbox.set_transaction("PPG-1", status="reversed")
    assert webhook("PPG-1", refresh=True) is Outcome.ALREADY_DELIVERED
    assert sandbox.verify_calls() == 2
    assert Transaction.objects.get().status == "reversed"
    assert Verification.objects.get().state == VerificationState.SETTLED
    assert Good.objects.count() == 1


@pytest.mark.parametrize("patience", [2.0, 0.0])
def test_a_refund_while_another_asks_is_asked_about_after_that(
    patience: float, tea_box: PaymentPage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer under way may be older than the refund: the waiting caller or the sweep asks again."""
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", patience)
    sandbox.pay("tea-box", reference="PPG-1")
    callback("PPG-1", tea_box)
    let_time_pass(60)
    refunds: list[Any] = []

    def tell() -> None:
        refunds.append(in_thread(lambda: webhook("PPG-1", refresh=True)))
        # It has lost the claim, has named the reference, and waits for the answer.
        named = Verification.objects.filter(refresh_attempt=F("attempts"))
        in_thread(lambda: wait_for(named.all)).result()

    sandbox.faults.add(operation="verify", kind="run", function=tell, times=1)
    webhook("PPG-1", refresh=True)
    assert refunds[0].result() is Outcome.ALREADY_DELIVERED
    state = Verification.objects.get().state
    assert state == (VerificationState.SETTLED if patience else VerificationState.DUE)
    let_time_pass(60)
    sweep_due()
    assert sandbox.verify_calls() == 3
    assert Verification.objects.get().state == VerificationState.SETTLED


def test_a_refund_of_an_old_payment_is_asked_about_until_the_service_is_back(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference="PPG-1")
    callback("PPG-1", tea_box)
    let_time_pass(80 * 3600)
    sandbox.set_transaction("PPG-1", status="reversed")
    sandbox.faults.add(operation="verify", kind="drop")
    webhook("PPG-1", refresh=True)
    assert Verification.objects.get().state == VerificationState.DUE
    sandbox.faults.clear()
    let_time_pass(DAY)
    sweep_due()
    assert Transaction.objects.get().status == "reversed"


@pytest.mark.parametrize("ended", ["failed", "died"])
def test_c14_what_was_reversed_under_a_delivery_that_came_to_nothing_is_held(
    ended: str, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    sandbox.pay("tea-box", reference="PPG-1")
    assert callback("PPG-1", tea_box) is Outcome.DELIVERY_FAILED
    configure(HANDLER="tests.support.goods.handlers.give")
    let_time_pass(10)
    row = Fulfilment.objects.get()
    Fulfilment.objects.update(
        state=FulfilmentState.DELIVERING, next_at=row.created_at.replace(year=2999)
    )
    sandbox.set_transaction("PPG-1", status="reversed")
    assert webhook("PPG-1", refresh=True) is Outcome.DELIVERING
    if ended == "failed":
        Fulfilment.objects.update(state=FulfilmentState.FAILED, next_at=row.created_at)
    else:
        Fulfilment.objects.update(next_at=row.created_at)
    sweep_due()
    row.refresh_from_db()
    assert (row.state, row.reason) == (FulfilmentState.HELD, Reason.NOT_SUCCESS)
    assert not Good.objects.exists()
    assert callback("PPG-1", tea_box) is Outcome.HELD


# A row that goes away


def test_a_reference_that_is_forgotten_under_a_door_is_taken_as_new(
    tea_box: PaymentPage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    callback("PPG-1", tea_box)
    sandbox.pay("tea-box", reference="PPG-1")
    let_time_pass(DAY + 3600)
    claim = verification.claim

    def forget(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(verification, "claim", claim)
        assert forget_unknown() == 1
        return claim(*arguments, **named)

    monkeypatch.setattr(verification, "claim", forget)
    assert callback("PPG-1", tea_box) is Outcome.DELIVERED


def test_a_row_deleted_by_hand_while_the_service_is_asked_loses_no_payment(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference="PPG-1")
    meanwhile(sandbox, lambda: Verification.objects.all().delete())
    assert callback("PPG-1", tea_box) is Outcome.DELIVERED
    assert (Good.objects.count(), Verification.objects.count()) == (1, 1)


# A page that becomes known


def test_a_second_look_does_not_forget_the_page_that_was_named_meanwhile(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    """The first page hint is of no page of ours; the true one comes during a refresh."""
    configure(ATTRIBUTION=("expected", "callback"))
    sandbox.pay("tea-box", reference="PPG-1")
    nowhere = confirm_payment("PPG-1", door=Door.CALLBACK, page_token=uuid.uuid4())
    assert nowhere.outcome is Outcome.HELD
    let_time_pass(60)
    results = meanwhile(
        sandbox,
        lambda: Verification.objects.filter(reference_key=reference_key("PPG-1")).update(
            page_claim=tea_box.token
        ),
    )
    webhook("PPG-1", refresh=True)
    assert results == [1]
    assert Transaction.objects.get().page == tea_box
    assert Good.objects.count() == 1
