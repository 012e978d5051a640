"""MODE is changed, as on the day a site goes live: each mode's rows stay that mode's."""

import datetime as dt
import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from django.test import Client

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason, VerificationState
from payments_pages.confirmation import (
    Confirmation,
    confirm_payment,
    oldest_due,
    sweep_due,
    waiting_references,
)
from payments_pages.confirmation.due import unvouched
from payments_pages.models import (
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.sandbox import Sandbox
from payments_pages.staff import Attention, decisions, read_attention
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

REFERENCE = "PPG-1040"
HOUR = 3600


@pytest.fixture
def asked(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> str:
    """A test payment that is still asked about when the site goes live."""
    sandbox.pay("tea-box", reference=REFERENCE, status="pending")
    come(tea_box)
    configure(MODE="live")
    let_time_pass(HOUR)
    return REFERENCE


@pytest.fixture
def failed(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> str:
    """A test payment whose delivery fails when the site goes live."""
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    sandbox.pay("tea-box", reference=REFERENCE)
    come(tea_box)
    configure(MODE="live", HANDLER="tests.support.goods.handlers.deliver")
    let_time_pass(HOUR)
    return REFERENCE


def come(page: PaymentPage) -> Confirmation:
    return confirm_payment(REFERENCE, door=Door.CALLBACK, page_token=page.token)


def row() -> Fulfilment:
    return Fulfilment.objects.select_related("transaction").get()


def modes() -> "QuerySet[Verification, str]":
    return Verification.objects.values_list("mode", flat=True)


def test_a_reference_of_the_other_mode_is_not_asked_about(asked: str, sandbox: Sandbox) -> None:
    calls = sandbox.verify_calls()
    for _sweep in range(3):
        report = sweep_due()
        assert (report.taken, report.other_mode) == (0, 1)
        let_time_pass(HOUR)
    assert sandbox.verify_calls() == calls
    assert list(modes()) == ["test"]


def test_it_goes_on_where_it_was_once_the_mode_is_back(
    asked: str, sandbox: Sandbox, configure: Any
) -> None:
    sandbox.set_transaction(asked, status="success")
    sweep_due()
    configure(MODE="test")
    report = sweep_due()
    assert (report.outcomes, report.other_mode) == ({Outcome.DELIVERED: 1}, 0)
    assert list(modes()) == ["test"]


def test_a_delivery_of_the_other_mode_is_not_made_until_the_mode_is_back(
    failed: str, sandbox: Sandbox, configure: Any
) -> None:
    calls = sandbox.verify_calls()
    for _sweep in range(3):
        report = sweep_due()
        assert (report.taken, report.other_mode) == (0, 1)
        let_time_pass(HOUR)
    assert sandbox.verify_calls() == calls
    assert not Good.objects.exists()
    configure(MODE="test")
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == Verification.objects.count() == 1


@pytest.mark.parametrize("state", [FulfilmentState.PENDING, FulfilmentState.DELIVERING])
def test_nor_is_one_that_waits_or_whose_worker_died(
    failed: str, state: FulfilmentState, configure: Any
) -> None:
    Fulfilment.objects.update(state=state)
    assert (sweep_due().taken, oldest_due()) == (0, None)
    assert read_attention() == Attention(other_mode_fulfilments=1)
    configure(MODE="test")
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


def test_a_hold_that_a_claim_may_lift_is_left_to_its_own_mode(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    sandbox.pay("tea-box", reference=REFERENCE)
    assert confirm_payment(REFERENCE, door=Door.WEBHOOK).outcome is Outcome.HELD
    Verification.objects.update(page_claim=tea_box.token)
    configure(MODE="live")
    assert sweep_due().taken == 0
    configure(MODE="test")
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


def test_a_delivery_whose_reference_was_deleted_by_hand_is_made_all_the_same(
    failed: str, configure: Any
) -> None:
    configure(MODE="test")
    Verification.objects.all().delete()
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == 1


@pytest.mark.parametrize("what", ["asked", "failed"])
def test_the_alarm_is_silent_about_the_other_mode_and_loud_about_this_one(
    what: str, request: pytest.FixtureRequest, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    request.getfixturevalue(what)
    let_time_pass(30 * 24 * HOUR)
    assert oldest_due() is None
    call_command("payments_pages_sweep", age=True, stdout=io.StringIO())
    ExpectedPayment.objects.expect(amount=100, currency="ILS")
    let_time_pass(2 * HOUR)
    age = oldest_due()
    assert age is not None
    assert dt.timedelta(hours=1) < age < dt.timedelta(hours=2)
    with pytest.raises(CommandError):
        call_command("payments_pages_sweep", age=True, stdout=io.StringIO())


@pytest.mark.urls("tests.unit.views.monitored_urls")
def test_a_monitor_is_told_the_same(asked: str, client: Client) -> None:
    let_time_pass(30 * 24 * HOUR)
    assert client.get("/health/").status_code == 200


def test_the_command_says_what_it_left_alone(failed: str) -> None:
    out = io.StringIO()
    call_command("payments_pages_sweep", stdout=out)
    assert (
        out.getvalue()
        == "Swept 0. Of the other mode (test/live), waiting until MODE is switched back: 1.\n"
    )


def test_pending_ones_are_those_of_this_mode(asked: str) -> None:
    assert waiting_references() == []
    ours = ExpectedPayment.objects.expect(amount=100, currency="ILS")
    assert waiting_references() == [ours.reference]


def test_unvouched_references_are_those_of_this_mode_and_forgotten_in_both(
    sandbox: Sandbox, configure: Any
) -> None:
    confirm_payment(REFERENCE, door=Door.CALLBACK, client_ip="192.0.2.1")
    assert Verification.objects.get().state == VerificationState.UNKNOWN
    configure(MODE="live")
    assert not unvouched().exists()
    let_time_pass(25 * HOUR)
    assert sweep_due().purged == 1


def test_while_the_mode_cannot_be_told_the_alarm_still_works(failed: str, configure: Any) -> None:
    configure(MODE=None, SECRET_KEY=None)
    assert oldest_due() is not None
    assert read_attention().missing


# Staff


@pytest.mark.parametrize("reason", [Reason.ATTEMPTS_SPENT, Reason.UNATTRIBUTED, Reason.NONE])
def test_staff_can_only_reject_what_is_of_the_other_mode(
    failed: str, tea_box: PaymentPage, reason: Reason
) -> None:
    if reason:
        Fulfilment.objects.update(state=FulfilmentState.HELD, reason=reason, next_at=None)
    before = row()
    assert decisions.retry(before.transaction, actor="Rana") is None
    assert decisions.approve(before.transaction, actor="Rana", note="yes") is None
    assert decisions.attribute(before.transaction, page=tea_box, actor="Rana") is None
    assert (row().state, row().reason) == (before.state, before.reason)
    assert Verification.objects.count() == 1
    assert decisions.reject(before.transaction, actor="Rana", note="a test")
    assert row().state == FulfilmentState.REJECTED


def test_a_payment_of_the_other_mode_cannot_be_approved_and_is_delivered_once_when_mode_is_right(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(MODE="live")
    sandbox.pay("tea-box", reference=REFERENCE)
    assert come(tea_box).outcome is Outcome.HELD
    assert row().reason == Reason.MODE_MISMATCH
    assert not decisions.may_approve(row().transaction)
    assert decisions.approve(row().transaction, actor="Rana", note="we know them") is None
    assert not Good.objects.exists()
    configure(MODE="test")
    assert decisions.approve(row().transaction, actor="Rana", note="we know them") is None
    assert come(tea_box).outcome is Outcome.DELIVERED
    assert come(tea_box).outcome is Outcome.ALREADY_DELIVERED
    held = Fulfilment.objects.select_related("transaction").get(state=FulfilmentState.HELD)
    assert not decisions.may_approve(held.transaction)
    assert decisions.reject(held.transaction, actor="Rana", note="delivered in the other row")
    assert Good.objects.count() == 1


def test_nor_can_it_when_something_else_holds_it_by_now(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    """A refund makes it a hold of another kind; the payment is of the other mode as ever."""
    configure(MODE="live")
    sandbox.pay("tea-box", reference=REFERENCE)
    come(tea_box)
    sandbox.set_transaction(REFERENCE, status="reversed")
    let_time_pass(10)
    confirm_payment(REFERENCE, door=Door.WEBHOOK, refresh=True)
    assert row().reason == Reason.NOT_SUCCESS
    assert decisions.approve(row().transaction, actor="Rana", note="yes") is None
    assert Transaction.objects.get().domain == "test"


@pytest.mark.parametrize("domain", ["live", "staging", "TEST"])
def test_a_payment_of_a_mode_that_is_not_ours_cannot_be_approved(
    tea_box: PaymentPage, sandbox: Sandbox, domain: str
) -> None:
    sandbox.pay("tea-box", reference=REFERENCE, domain=domain)
    assert come(tea_box).outcome is Outcome.HELD
    assert not decisions.may_approve(row().transaction)
