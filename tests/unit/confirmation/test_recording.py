"""A verified answer is attributed, mirrored and decided about in one transaction."""

from typing import Any

import pytest
from django.db import transaction as db_transaction

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason, VerificationState
from payments_pages.client import get_client
from payments_pages.confirmation import Confirmation, confirm_payment, sweep_due
from payments_pages.confirmation.recording import record
from payments_pages.confirmation.verification import Claim
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment, in_thread, mirror_another
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db

at_once = pytest.mark.django_db(transaction=True)
"""For tests whose rivals are on other connections, or whose commits count."""


def confirm(
    reference: str, page: PaymentPage | None = None, door: Door = Door.CALLBACK, **more: Any
) -> Confirmation:
    token = page.token if page else None
    return confirm_payment(reference, door=door, page_token=token, **more)


def held(reason: Reason) -> bool:
    row = Fulfilment.objects.get()
    return (row.state, row.reason) == (FulfilmentState.HELD, reason) and not Good.objects.exists()


@pytest.mark.parametrize(
    ("amount", "reason"),
    [(1000, Reason.AMOUNT_MISMATCH), (9999, Reason.AMOUNT_MISMATCH), (1, Reason.AMOUNT_MISMATCH),
     (0, Reason.AMOUNT_INVALID)],
)  # fmt: skip
def test_c05_less_than_the_price_is_held_with_both_figures(
    tea_box: PaymentPage, sandbox: Sandbox, amount: int, reason: Reason
) -> None:
    sandbox.pay("tea-box", reference="PPG-1005", amount=amount)
    assert confirm("PPG-1005", tea_box).outcome is Outcome.HELD
    assert held(reason)
    row = Transaction.objects.select_related("page").get()
    assert row.page is not None
    assert (row.amount, row.page.amount) == (amount, 10000)


@pytest.mark.parametrize(("amount", "overpaid"), [(10000, False), (10001, True), (10**12, True)])
def test_c05_the_price_or_more_is_delivered_and_more_is_flagged(
    tea_box: PaymentPage, sandbox: Sandbox, amount: int, overpaid: bool
) -> None:
    sandbox.pay("tea-box", reference="PPG-1005", amount=amount)
    assert confirm("PPG-1005", tea_box).outcome is Outcome.DELIVERED
    assert Fulfilment.objects.get().overpaid is overpaid


def test_c05_another_currency_buys_nothing(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    sandbox.pay("tea-box", reference="PPG-1005", amount=10000, currency="JOD")
    assert confirm("PPG-1005", tea_box).outcome is Outcome.HELD
    assert held(Reason.CURRENCY_MISMATCH)


def test_live_and_test_money_do_not_mix(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    sandbox.pay("tea-box", reference="PPG-1005", domain="live")
    assert confirm("PPG-1005", tea_box).outcome is Outcome.HELD
    assert held(Reason.MODE_MISMATCH)


def test_c08_a_spent_reference_pays_for_nothing_else(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    dear = mirror_another(sandbox, slug="dear", amount=100000)
    cheap = sandbox.pay("tea-box", reference="PPG-1008")
    assert confirm(cheap, tea_box).outcome is Outcome.DELIVERED
    for page in (dear, None, tea_box):
        assert confirm(cheap, page).outcome is Outcome.ALREADY_DELIVERED
    assert Good.objects.count() == 1
    assert Fulfilment.objects.get().transaction.page == tea_box
    assert Verification.objects.get().page_claim == tea_box.token
    assert sandbox.verify_calls() == 1


def test_c08_a_cheap_payment_claimed_for_a_dear_page_is_held(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    dear = mirror_another(sandbox, slug="dear", amount=100000)
    sandbox.pay("tea-box", reference="PPG-1008")
    assert confirm("PPG-1008", dear).outcome is Outcome.HELD
    assert held(Reason.AMOUNT_MISMATCH)


def test_c61_two_payments_for_one_expected_payment_deliver_once(sandbox: Sandbox) -> None:
    expected = expect_payment("PPG-1061")
    sandbox.add_transaction("PPG-1061")
    assert confirm("PPG-1061").outcome is Outcome.DELIVERED
    expected.refresh_from_db()
    assert expected.paid_by_key == Transaction.objects.get().reference_key
    assert confirm("PPG-1061", refresh=True).outcome is Outcome.ALREADY_DELIVERED


def test_an_expected_payment_that_another_has_paid_is_held(sandbox: Sandbox) -> None:
    expect_payment("PPG-1062", paid_by_key="another")
    sandbox.add_transaction("PPG-1062")
    assert confirm("PPG-1062").outcome is Outcome.HELD
    assert held(Reason.DUPLICATE_PAYMENT)


def test_c28b_what_a_payment_was_for_may_become_known_later(sandbox: Sandbox) -> None:
    sandbox.add_transaction("PPG-1029")
    assert confirm("PPG-1029", door=Door.WEBHOOK).outcome is Outcome.HELD
    assert held(Reason.UNATTRIBUTED)
    expect_payment("PPG-1029")
    assert confirm("PPG-1029", door=Door.WEBHOOK).outcome is Outcome.DELIVERED
    assert (Good.objects.count(), sandbox.verify_calls()) == (1, 1)


def test_a_callback_lifts_the_hold_of_a_payment_that_came_by_another_door(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference="PPG-1")
    assert confirm("PPG-1", door=Door.WEBHOOK).outcome is Outcome.HELD
    assert confirm("PPG-1", door=Door.CALLBACK).outcome is Outcome.HELD
    assert confirm("PPG-1", tea_box).outcome is Outcome.DELIVERED
    assert Fulfilment.objects.get().transaction.page == tea_box
    assert sandbox.verify_calls() == 1


@at_once
def test_a_page_claimed_while_another_door_asks_is_not_lost(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """The payer's callback stops waiting before the answer comes: its page hint must count."""
    sandbox.pay("tea-box", reference="PPG-1")
    sandbox.faults.add(
        operation="verify",
        kind="run",
        function=lambda: in_thread(
            lambda: Verification.objects.update(page_claim=tea_box.token)
        ).result(),
    )
    assert confirm("PPG-1", door=Door.WEBHOOK).outcome is Outcome.DELIVERED
    assert Fulfilment.objects.get().transaction.page == tea_box


@at_once
def test_a_page_claim_that_nobody_acted_upon_counts_for_the_next_door(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference="PPG-1")
    assert confirm("PPG-1", door=Door.WEBHOOK).outcome is Outcome.HELD
    Verification.objects.update(page_claim=tea_box.token)
    assert confirm("PPG-1").outcome is Outcome.DELIVERED


@pytest.fixture
def delivered(tea_box: PaymentPage, sandbox: Sandbox) -> str:
    sandbox.pay("tea-box", reference="PPG-1014")
    assert confirm("PPG-1014", tea_box).outcome is Outcome.DELIVERED
    let_time_pass(3600)
    return "PPG-1014"


def test_c14_a_reversal_is_recorded_and_undoes_no_delivery(
    delivered: str, sandbox: Sandbox
) -> None:
    for status in ("reversed", "success", "failed", "reversed"):
        sandbox.set_transaction(delivered, status=status)
        let_time_pass(10)
        assert confirm(delivered, refresh=True).outcome is Outcome.ALREADY_DELIVERED
        assert confirm(delivered).outcome is Outcome.ALREADY_DELIVERED
        assert Transaction.objects.get().status == "reversed"
    assert Good.objects.count() == Fulfilment.objects.count() == 1
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED


@pytest.mark.parametrize("status", ["failed", "pending", "", "weird"])
def test_c14_a_late_other_answer_does_not_unpay(
    delivered: str, sandbox: Sandbox, status: str
) -> None:
    sandbox.set_transaction(delivered, status=status)
    assert confirm(delivered, refresh=True).outcome is Outcome.ALREADY_DELIVERED
    assert Transaction.objects.get().status == "success"
    assert Verification.objects.get().state == VerificationState.SETTLED


@at_once
@pytest.mark.parametrize("dead", [False, True])
def test_c14_what_is_reversed_before_its_delivery_is_held(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any, dead: bool
) -> None:
    """After a failed delivery, and after one whose process died with the claim."""
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    sandbox.pay("tea-box", reference="PPG-1014")
    assert confirm("PPG-1014", tea_box).outcome is Outcome.DELIVERY_FAILED
    if dead:
        Fulfilment.objects.update(state=FulfilmentState.DELIVERING)
    configure(HANDLER="tests.support.goods.handlers.give")
    sandbox.set_transaction("PPG-1014", status="reversed")
    let_time_pass(3600)
    assert confirm("PPG-1014", door=Door.WEBHOOK, refresh=True).outcome is Outcome.HELD
    assert held(Reason.NOT_SUCCESS)
    sandbox.set_transaction("PPG-1014", status="success")
    let_time_pass(3600)
    assert confirm("PPG-1014", refresh=True).outcome is Outcome.HELD
    assert sweep_due().taken == 0
    assert not Good.objects.exists()


def test_c14_a_delivery_that_is_under_way_is_not_stopped(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    sandbox.pay("tea-box", reference="PPG-1014")
    confirm("PPG-1014", tea_box)
    let_time_pass(3600)
    row = Fulfilment.objects.get()
    Fulfilment.objects.update(
        state=FulfilmentState.DELIVERING, next_at=row.created_at.replace(year=2999)
    )
    sandbox.set_transaction("PPG-1014", status="reversed")
    assert confirm("PPG-1014", refresh=True).outcome is Outcome.DELIVERING
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERING


def test_c48_what_is_settled_is_answered_while_the_service_is_down(
    delivered: str, sandbox: Sandbox
) -> None:
    sandbox.faults.add(operation="verify", kind="drop")
    assert confirm(delivered).outcome is Outcome.ALREADY_DELIVERED
    assert confirm(delivered, refresh=True).outcome is Outcome.ALREADY_DELIVERED
    assert Transaction.objects.get().status == "success"


def test_an_answer_that_never_came_again_does_not_hide_what_is_known(
    delivered: str, sandbox: Sandbox
) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=404)
    assert confirm(delivered, refresh=True).outcome is Outcome.ALREADY_DELIVERED
    assert Verification.objects.get().state != VerificationState.UNKNOWN
    sandbox.faults.clear()
    let_time_pass(24 * 3600)
    assert confirm(delivered, refresh=True).outcome is Outcome.ALREADY_DELIVERED
    assert Verification.objects.get().state == VerificationState.SETTLED


@at_once
def test_an_answer_is_never_recorded_inside_somebodys_transaction(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """A rollback of the outer transaction would undo what a payer has read."""
    sandbox.pay("tea-box", reference="PPG-1")
    resource = get_client().verify_transaction("PPG-1")
    claimed = Claim(1, 1)
    with db_transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        record(claimed, resource, key="key", existing=None, page_hint=None, door=Door.CALLBACK)
