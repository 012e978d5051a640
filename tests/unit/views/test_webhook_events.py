"""What each event leads to, in whatever order and however often it comes."""

import itertools
import json
from typing import Any

import pytest
from django.utils import timezone

from payments_pages.choices import Attributed, EventKind, FulfilmentState, Reason
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_delivered, transaction_changed
from payments_pages.staff.decisions import retry
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good
from tests.support.webhook_signing import event, post, said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("open_webhook", "tea_box")]


def refund(reference: str, kind: str = "refund.processed") -> bytes:
    return event("REFUND-1", kind, transaction_reference=reference)


def status_of(body: bytes) -> int:
    return post(body).status_code


def test_c14_a_refund_is_recorded_and_nothing_after_it_delivers_again(sandbox: Sandbox) -> None:
    reference = pay(sandbox, reference="PPG-1014")
    assert status_of(event(reference)) == 200
    sandbox.set_transaction(reference, status="reversed")
    let_time_pass(60)
    assert said(post(refund(reference))) == {"outcome": "already_delivered"}
    assert Transaction.objects.get().status == "reversed"
    for late in ("reversed", "success", "failed"):
        sandbox.set_transaction(reference, status=late)
        for body in (event(reference), refund(reference), event(reference, "charge.x")):
            let_time_pass(60)
            assert status_of(body) == 200
            assert Transaction.objects.get().status == "reversed"
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts) == (FulfilmentState.DELIVERED, 1)
    assert Good.objects.count() == 1
    changes = Event.objects.filter(kind=EventKind.STATUS_CHANGED)
    assert [change.detail for change in changes] == ["success → reversed"]


def test_c14_a_refund_is_announced_once(sandbox: Sandbox) -> None:
    heard: list[tuple[str, str]] = []

    def listen(transaction: Transaction, previous: str, **_more: Any) -> None:
        heard.append((previous, transaction.status))

    reference = pay(sandbox)
    status_of(event(reference))
    sandbox.set_transaction(reference, status="reversed")
    transaction_changed.connect(listen)
    try:
        for _time in range(3):
            let_time_pass(60)
            assert status_of(refund(reference)) == 200
    finally:
        transaction_changed.disconnect(listen)
    assert heard == [("success", "reversed")]


@pytest.mark.parametrize(
    "kind", ["refund.pending", "refund.failed", "refund.processing", "refund."]
)
def test_a_refund_event_of_any_kind_asks_again_and_believes_the_service(
    sandbox: Sandbox, kind: str
) -> None:
    reference = pay(sandbox)
    status_of(event(reference))
    let_time_pass(60)
    assert status_of(refund(reference, kind)) == 200
    assert sandbox.verify_calls(reference) == 2
    assert Transaction.objects.get().status == "success"


def test_a_success_that_is_sent_again_asks_nothing(sandbox: Sandbox) -> None:
    reference = pay(sandbox)
    for _time in range(3):
        assert status_of(event(reference)) == 200
        let_time_pass(60)
    assert sandbox.verify_calls(reference) == 1


@pytest.mark.parametrize(
    "order",
    list(itertools.permutations(["charge.success", "charge.failed", "refund.processed"])),
    ids="-".join,
)
def test_events_in_any_order_and_twice_give_once(sandbox: Sandbox, order: tuple[str, ...]) -> None:
    reference = pay(sandbox)
    for kind in order * 2:
        body = refund(reference) if kind.startswith("refund.") else event(reference, kind)
        assert status_of(body) == 200
        let_time_pass(3)
    assert Good.objects.count() == Fulfilment.objects.count() == Transaction.objects.count() == 1


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("transfer.success", {"reference": "TRF-1"}),
        ("transfer.failed", {"reference": "TRF-1", "transaction": {"reference": "A-1"}}),
        ("brand.new.kind", {}),
        ("brand.new.kind", {"reference": None, "transaction": {}}),
        ("brand.new.kind", {"reference": "a/b", "transaction_reference": "\u0661"}),
        ("charge.brand.new", {"reference": None}),
        ("", {}),
        ("CHARGE.SUCCESS", {"reference": "A-1"}),
        ("charge", {"reference": "A-1"}),
    ],
)
def test_c34_an_event_that_is_not_ours_is_taken_and_ignored(
    sandbox: Sandbox, kind: str, data: dict[str, Any]
) -> None:
    answer = post(json.dumps({"event": kind, "data": data}).encode())
    assert (answer.status_code, said(answer)) == (200, {"outcome": "ignored"})
    assert sandbox.verify_calls() == 0
    assert not Verification.objects.exists()


def test_c34_an_unknown_event_about_a_payment_we_know_asks_again(sandbox: Sandbox) -> None:
    reference = pay(sandbox)
    status_of(event(reference))
    sandbox.set_transaction(reference, status="reversed")
    let_time_pass(60)
    dispute = event("DSP-1", "dispute.create", transaction={"reference": reference})
    assert said(post(dispute)) == {"outcome": "already_delivered"}
    assert Transaction.objects.get().status == "reversed"


def test_c34_a_payment_of_another_site_is_on_record_for_staff(sandbox: Sandbox) -> None:
    sandbox.add_transaction("OTHERSITE-7", amount=10000, currency="ILS", metadata="")
    for _time in range(3):
        answer = post(event("OTHERSITE-7"))
        assert (answer.status_code, said(answer)) == (200, {"outcome": "held"})
    row = Fulfilment.objects.select_related("transaction").get()
    assert (row.state, row.reason) == (FulfilmentState.HELD, Reason.UNATTRIBUTED)
    assert (row.transaction.amount, row.transaction.currency) == (10000, "ILS")
    assert row.transaction.attributed_by == Attributed.NONE
    assert not Good.objects.exists()


def test_c28b_a_notice_that_comes_before_the_order_is_not_lost(sandbox: Sandbox) -> None:
    sandbox.add_transaction("PPG-1029", amount=10000, currency="ILS", metadata="")
    assert said(post(event("PPG-1029"))) == {"outcome": "held"}
    expect_payment("PPG-1029")
    assert said(post(event("PPG-1029"))) == {"outcome": "delivered"}
    assert Good.objects.count() == 1


def test_c28a_a_reference_the_service_does_not_know_yet_is_kept_and_asked_about(
    sandbox: Sandbox,
) -> None:
    first = post(event("PPG-1029"))
    assert (first.status_code, said(first)) == (503, {"outcome": "pending"})
    assert Verification.objects.get().vouched
    assert not Transaction.objects.exists()
    pay(sandbox, reference="PPG-1029")
    let_time_pass(10)
    assert said(post(event("PPG-1029"))) == {"outcome": "delivered"}


def test_c35a_a_late_notice_about_what_is_delivered_is_taken(sandbox: Sandbox) -> None:
    reference = pay(sandbox)
    status_of(event(reference))
    Good.objects.all().delete()  # archived by the merchant
    assert [status_of(event(reference)) for _time in range(3)] == [200] * 3
    assert not Good.objects.exists()


def test_c35b_what_can_never_succeed_is_not_sent_again(sandbox: Sandbox, configure: Any) -> None:
    configure(HANDLER="tests.support.goods.handlers.refuse")
    reference = pay(sandbox)
    assert [status_of(event(reference)) for _time in range(3)] == [200] * 3
    row = Fulfilment.objects.get()
    assert (row.state, row.reason) == (FulfilmentState.HELD, Reason.PERMANENT_ERROR)
    assert (row.attempts, row.last_error) == (1, "PermanentFulfilmentError: sold out")


def test_c35c_what_may_succeed_is_sent_again_and_staff_can_run_it(
    sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    reference = pay(sandbox)
    answers = [post(event(reference)) for _time in range(3)]
    assert [answer.status_code for answer in answers] == [503] * 3
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in answers)
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts) == (FulfilmentState.FAILED, 3)
    assert row.last_error.startswith("RuntimeError: no luck for")
    assert "sk_test_suite" not in row.last_error
    assert not Good.objects.exists()
    configure(HANDLER="tests.support.goods.handlers.deliver")
    assert retry(row.transaction, actor="staff") == "delivered"
    assert Good.objects.count() == 1


def test_c35_many_repeats_do_not_spend_all_attempts(sandbox: Sandbox, configure: Any) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    reference = pay(sandbox)
    assert {status_of(event(reference)) for _time in range(20)} == {503}
    assert Fulfilment.objects.get().attempts == 4


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503])
def test_while_the_service_does_not_answer_the_event_is_sent_again(
    sandbox: Sandbox, status: int
) -> None:
    reference = pay(sandbox)
    sandbox.faults.add(
        operation="verify", kind="status", status=status, headers={"Retry-After": "30"}
    )
    answer = post(event(reference))
    assert (answer.status_code, said(answer)) == (503, {"outcome": "unavailable"})
    assert int(answer.headers["Retry-After"]) >= 5
    sandbox.faults.clear()
    let_time_pass(60)
    assert status_of(event(reference)) == 200
    assert Good.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_c62_what_fails_after_the_commit_does_not_ask_for_another_sending(
    sandbox: Sandbox, configure: Any
) -> None:
    def break_down(**_more: Any) -> None:
        raise OSError("the mail server is down")

    configure(HANDLER="tests.support.goods.handlers.mail_after_commit")
    fulfilment_delivered.connect(break_down)
    try:
        reference = pay(sandbox)
        assert said(post(event(reference))) == {"outcome": "delivered"}
        assert said(post(event(reference))) == {"outcome": "already_delivered"}
    finally:
        fulfilment_delivered.disconnect(break_down)
    assert Good.objects.count() == 1
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED


@pytest.mark.parametrize("paid_at", ["2031-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "soon", None])
def test_c63_no_clock_makes_a_genuine_notice_too_old_or_too_new(
    sandbox: Sandbox, paid_at: str | None
) -> None:
    reference = pay(sandbox, paid_at=paid_at, created_at=paid_at)
    assert said(post(event(reference, paid_at=paid_at))) == {"outcome": "delivered"}


def test_c57_a_page_repriced_and_closed_meanwhile_loses_no_payment(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = pay(sandbox, reference="PPG-1057")
    tea_box.amount, tea_box.active, tea_box.inactive_since = 12000, False, timezone.now()
    tea_box.save()
    assert said(post(event(reference))) == {"outcome": "held"}
    row = Fulfilment.objects.select_related("transaction").get()
    assert (row.reason, row.transaction.amount) == (Reason.AMOUNT_MISMATCH, 10000)
    expected = expect_payment("PPG-1057B", page=tea_box)
    pay(sandbox, reference=expected.reference)
    assert said(post(event(expected.reference))) == {"outcome": "delivered"}
