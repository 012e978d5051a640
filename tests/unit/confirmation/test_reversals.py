"""What was delivered and is reversed later needs the attention of staff until they have seen it."""

import datetime as dt
from concurrent.futures import Future
from typing import Any

import pytest
from django.db import connection

from payments_pages import staff
from payments_pages.choices import Door, FulfilmentState, Outcome, Reason, VerificationState
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.staff import read_attention
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.support.goods.handlers import give
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)


def read() -> Transaction:
    return Transaction.objects.select_related("fulfilment").get()


def ask(reference: str) -> Outcome:
    let_time_pass(60)
    return confirm_payment(reference, door=Door.ADMIN, refresh=True, vouched=True).outcome


@pytest.fixture
def delivered(tea_box: PaymentPage, sandbox: Sandbox) -> str:
    reference = sandbox.pay("tea-box")
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED
    return reference


def test_a_reversal_that_is_found_by_asking_needs_attention_until_it_was_seen(
    delivered: str, sandbox: Sandbox
) -> None:
    assert read_attention().money_back == 0
    sandbox.set_transaction(delivered, status="reversed")
    for _time in range(3):
        assert ask(delivered) is Outcome.ALREADY_DELIVERED
        assert read_attention().money_back == 1
    told = read().fulfilment.money_back_at
    assert staff.mark_seen(read(), actor="Rana")
    assert read_attention().money_back == 0
    # The same answer again is no news, and the time stays for the export.
    ask(delivered)
    assert read_attention().money_back == 0
    assert read().fulfilment.money_back_at == told
    assert Good.objects.count() == 1


def test_a_reversal_after_a_refund_that_staff_have_seen_is_news(
    delivered: str, sandbox: Sandbox
) -> None:
    day = dt.timedelta(days=1)
    Fulfilment.objects.update(money_back_at=read().verified_at - day, money_back_unseen=False)
    sandbox.set_transaction(delivered, status="reversed")
    ask(delivered)
    assert read_attention().money_back == 1
    assert read().fulfilment.money_back_at > read().verified_at - day


@pytest.mark.parametrize("approved", [False, True])
def test_what_is_reversed_while_it_is_held_counts_only_if_it_is_given(
    tea_box: PaymentPage, sandbox: Sandbox, approved: bool
) -> None:
    reference = sandbox.pay("tea-box", amount=9999)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    if approved:
        let_time_pass(60)
        assert staff.approve(read(), actor="Rana", note="the rest is ours") is Outcome.DELIVERED
    sandbox.set_transaction(reference, status="reversed")
    ask(reference)
    assert read_attention().money_back == int(approved)
    assert read().fulfilment.money_back_at is not None


@pytest.mark.parametrize("approved", [False, True])
def test_what_is_reversed_after_its_attempts_were_spent_is_not_delivered_by_a_retry(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any, approved: bool
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always", MAX_ATTEMPTS=1)
    reference = sandbox.pay("tea-box", amount=9999 if approved else 10000)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    if approved:
        let_time_pass(60)
        assert staff.approve(read(), actor="Rana", note="the rest is ours") is Outcome.HELD
    assert read().fulfilment.reason == Reason.ATTEMPTS_SPENT
    sandbox.set_transaction(reference, status="reversed")
    ask(reference)
    assert read().status == "reversed"
    configure(HANDLER="tests.support.goods.handlers.give")
    assert staff.retry(read(), actor="Rana") is Outcome.HELD
    assert not Good.objects.exists()
    assert read().fulfilment.reason == Reason.NOT_SUCCESS


def test_a_payment_that_is_first_seen_reversed_is_neither_delivered_nor_told_of(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box", status="reversed")
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.NOT_PAID
    assert not Fulfilment.objects.exists()
    assert read_attention().money_back == 0


@pytest.mark.parametrize("status", ["success", "failed", "pending", "Reversed"])
def test_no_other_status_marks_it(delivered: str, sandbox: Sandbox, status: str) -> None:
    sandbox.set_transaction(delivered, status=status)
    ask(delivered)
    assert read().status == "success"
    assert read().fulfilment.money_back_at is None


_asked: list[Future[Any]] = []
_sandboxes: list[Sandbox] = []


def reversed_meanwhile(fulfilment: Fulfilment) -> None:
    """Give; before the transaction ends the money goes back, and staff ask the service."""
    give(fulfilment)
    reference = fulfilment.transaction.reference
    _sandboxes[-1].set_transaction(reference, status="reversed")
    asked = in_thread(
        lambda: confirm_payment(reference, door=Door.ADMIN, refresh=True, vouched=True)
    )
    _asked.append(asked)
    if connection.features.has_select_for_update:
        asked.result(timeout=30)


def test_a_reversal_that_is_found_while_the_handler_runs_is_marked_after_that(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    reference = sandbox.pay("tea-box")
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERY_FAILED
    configure(HANDLER=f"{__name__}.reversed_meanwhile", HANDLER_ATOMIC=True)
    _sandboxes.append(sandbox)
    let_time_pass(60)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    _asked[-1].result(timeout=30)
    for _sweep in range(3):
        let_time_pass(3600)
        sweep_due()
    assert read().status == "reversed"
    row = read().fulfilment
    if row.state == FulfilmentState.DELIVERED:
        assert read_attention().money_back == 1
        assert Good.objects.count() == 1
    else:
        assert (row.state, row.reason) == (FulfilmentState.HELD, Reason.NOT_SUCCESS)
        assert not Good.objects.exists()
    assert Verification.objects.get().state == VerificationState.SETTLED
