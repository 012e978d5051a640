"""Money that goes back in part, and disputes: the payment stays a success, and staff are told."""

from concurrent.futures import Future, wait
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.urls import reverse

from payments_pages import staff
from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.signals import service_event
from payments_pages.staff import read_attention
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.support.goods.handlers import give
from tests.support.goods.models import Good
from tests.support.service_answers import REFERENCE, answer
from tests.support.webhook_signing import event, post, said

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("tea_box", "open_webhook"),
]

PAYMENTS = "/admin/payments_pages/transaction/"
MONEY_BACK = ["refund.processed", "refund.pending", "refund.failed", "charge.dispute.create",
              "charge.dispute.resolve"]  # fmt: skip


def notice(reference: str, kind: str, **data: Any) -> bytes:
    """The body of an event, with the reference where the service writes it."""
    if kind.startswith("refund."):
        return event("", kind, transaction_reference=reference, amount=400, **data)
    if kind.startswith("charge.dispute."):
        return event("", kind, transaction={"reference": reference}, **data)
    return event(reference, kind, **data)


def lines(kind: str = "service_event") -> list[str]:
    rows = Event.objects.filter(kind=kind).order_by("pk")
    return [row.detail for row in rows]


def read() -> Transaction:
    return Transaction.objects.select_related("fulfilment").get()


@pytest.fixture
def delivered(sandbox: Sandbox, tea_box: PaymentPage) -> str:
    """A payment that was delivered by its page's callback, a while ago."""
    reference = sandbox.pay("tea-box")
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED
    let_time_pass(60)
    return reference


@pytest.fixture
def heard() -> Any:
    """What the signal told: (reference, event, the mirrored transaction)."""
    told: list[tuple[str, str, Any]] = []

    def receive(reference: str, event: str, transaction: Any, **_more: Any) -> None:
        assert not connection.in_atomic_block, "after the commit"
        told.append((reference, event, transaction))

    service_event.connect(receive)
    yield told
    service_event.disconnect(receive)


@pytest.mark.parametrize("kind", MONEY_BACK)
def test_d16_a_refund_or_dispute_about_something_delivered_needs_attention(
    delivered: str, kind: str, heard: Any
) -> None:
    answer = post(notice(delivered, kind))
    assert (answer.status_code, said(answer)) == (200, {"outcome": "already_delivered"})
    assert lines() == [kind]
    assert heard == [(delivered, kind, read())]
    assert read_attention().money_back == 1
    assert Good.objects.count() == 1
    assert read().status == "success"


def test_d16_repeated_and_reordered_it_needs_attention_once(delivered: str) -> None:
    order = ["refund.processed", "refund.pending", "refund.processed", "charge.dispute.create"]
    for kind in order:
        assert post(notice(delivered, kind)).status_code == 200
    assert lines() == order, "a line for each sending"
    assert read_attention().money_back == 1
    assert staff.mark_seen(read(), actor="Rana")
    assert read_attention().money_back == 0
    assert not staff.mark_seen(read(), actor="Omar"), "there is nothing more to see"
    assert Event.objects.filter(kind="seen").count() == 1
    # What comes later is news.
    post(notice(delivered, "refund.processed"))
    assert read_attention().money_back == 1


@pytest.mark.parametrize("kind", ["charge.success", "charge.update", "invoice.create"])
def test_d16_any_other_event_is_a_line_and_a_signal_only(
    delivered: str, heard: Any, kind: str
) -> None:
    assert post(event(delivered, kind)).status_code == 200
    assert lines() == [kind]
    assert [told[:2] for told in heard] == [(delivered, kind)]
    assert read_attention().money_back == 0


def test_an_event_about_a_reference_that_nobody_knows_leaves_no_line(
    sandbox: Sandbox, heard: Any
) -> None:
    assert said(post(event("T-else", "transfer.success"))) == {"outcome": "ignored"}
    assert said(post(event("", "charge.dispute.create"))) == {"outcome": "ignored"}
    assert post(event(sandbox.pay("tea-box"))).status_code == 200
    assert lines() == []
    assert heard == []


def test_d16_a_refund_that_is_the_first_news_of_a_delivered_payment_is_on_record(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    reference = sandbox.pay("tea-box", metadata={"page_slug": "tea-box"})
    assert said(post(notice(reference, "refund.processed"))) == {"outcome": "delivered"}
    assert lines() == ["refund.processed"]
    assert read_attention().money_back == 1


def test_d16_what_was_refunded_while_it_was_held_shows_once_it_is_delivered(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = sandbox.pay("tea-box", amount=9999)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(60)
    post(notice(reference, "refund.processed"))
    assert read_attention().money_back == 0
    assert not staff.may_mark_seen(read())
    let_time_pass(60)
    assert staff.approve(read(), actor="Rana", note="the rest is ours") is Outcome.DELIVERED
    assert read_attention().money_back == 1


def test_d16_while_the_service_is_away_the_event_is_recorded_and_sent_again(
    sandbox: Sandbox, delivered: str
) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=503)
    answer = post(notice(delivered, "refund.processed"))
    assert answer.status_code in {200, 503}
    assert lines() == ["refund.processed"]
    assert read_attention().money_back == 1


def test_d16_a_full_refund_is_both_a_changed_status_and_seen_once(
    sandbox: Sandbox, delivered: str
) -> None:
    sandbox.set_transaction(delivered, status="reversed")
    assert post(notice(delivered, "refund.processed")).status_code == 200
    assert read().status == "reversed"
    assert lines("status_changed") == ["success → reversed"]
    assert read_attention().money_back == 1
    assert staff.mark_seen(read(), actor="Rana")


def test_d16_nothing_of_the_body_is_kept_and_a_name_is_cleaned(delivered: str) -> None:
    names = ["refund.x\n\x07forged", "refund." + "y" * 5000, "refund.noor@example.com"]
    for name in names:
        secret = {"customer": {"email": "noor@example.com"}, "note": "SECRET-BODY"}
        assert post(notice(delivered, name, **secret)).status_code == 200
    kept = " ".join(lines())
    assert kept.startswith("refund.x forged refund.yyy")
    assert max(map(len, lines())) <= 100
    assert "noor@" not in kept
    assert "SECRET-BODY" not in kept


def test_d16_a_receiver_that_raises_changes_nothing(delivered: str) -> None:
    def fail(**_more: Any) -> None:
        raise RuntimeError("a receiver's own fault")

    service_event.connect(fail)
    try:
        assert post(notice(delivered, "refund.processed")).status_code == 200
    finally:
        service_event.disconnect(fail)
    assert read_attention().money_back == 1


_refunds: list[Future[Any]] = []


def refunded_meanwhile(fulfilment: Fulfilment) -> None:
    """Give; while the transaction is open, the service sends a refund of this payment."""
    give(fulfilment)
    body = notice(fulfilment.transaction.reference, "refund.processed")
    _refunds.append(in_thread(lambda: post(body)))
    # Where rows are locked it is answered now; SQLite lets it wait until this transaction ends.
    wait(_refunds, timeout=3)


def test_d16_a_refund_that_comes_while_the_handler_runs_is_kept_and_told_once(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any, heard: Any
) -> None:
    configure(HANDLER=f"{__name__}.refunded_meanwhile", HANDLER_ATOMIC=True)
    _refunds.clear()
    reference = sandbox.pay("tea-box")
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED
    (sent,) = _refunds
    answer = sent.result(timeout=60)
    if connection.features.has_select_for_update:
        assert answer.status_code == 503, "the row is locked: the service shall send it again"
    if answer.status_code != 200:
        assert answer.headers["Retry-After"]
        answer = post(notice(reference, "refund.processed"))
    assert (answer.status_code, said(answer)) == (200, {"outcome": "already_delivered"})
    assert lines() == ["refund.processed"], "a sending that was not taken is no news"
    assert [told[:2] for told in heard] == [(reference, "refund.processed")]
    assert read_attention().money_back == 1
    assert Good.objects.count() == 1


def test_d16_a_refund_that_comes_while_the_service_is_first_asked_is_sent_again(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = sandbox.pay("tea-box")
    answers: list[Any] = []

    def refund() -> None:
        body = notice(reference, "refund.processed")
        answers.append(in_thread(lambda: post(body)).result(timeout=30))

    sandbox.faults.add(operation="verify", kind="run", function=refund, times=1)
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED
    assert [answer.status_code for answer in answers] == [503], "there was no delivery to mark"
    assert lines() == []
    assert post(notice(reference, "refund.processed")).status_code == 200
    assert lines() == ["refund.processed"]
    assert read_attention().money_back == 1


@pytest.mark.parametrize("kind", ["refund.processed", "charge.dispute.create"])
@pytest.mark.parametrize("before", ["pending", "404"])
def test_d16_a_refund_that_is_told_before_the_success_needs_attention_after_it(
    sandbox: Sandbox, tea_box: PaymentPage, before: str, kind: str
) -> None:
    """The service's verify may be behind its own messages."""
    answer(sandbox, before)
    callback = {"door": Door.CALLBACK, "page_token": tea_box.token}
    assert confirm_payment(REFERENCE, **callback).outcome in {Outcome.PENDING, Outcome.UNKNOWN}
    let_time_pass(60)
    assert post(notice(REFERENCE, kind)).status_code == 200
    assert read_attention().money_back == 0
    answer(sandbox, "success")
    let_time_pass(60)
    assert confirm_payment(REFERENCE, **callback).outcome is Outcome.DELIVERED
    assert read_attention().money_back == 1


def test_d16_events_at_once_are_each_a_line_and_one_attention(delivered: str) -> None:
    kinds = ["refund.processed", "refund.pending", "charge.dispute.create", "charge.success"] * 2
    jobs = [in_thread(lambda kind=kind: post(notice(delivered, kind))) for kind in kinds]
    answers = [job.result(timeout=60).status_code for job in jobs]
    assert set(answers) <= {200, 503}
    assert len(lines()) >= answers.count(200)
    assert set(lines()) <= set(kinds)
    assert read_attention().money_back == 1
    assert Good.objects.count() == 1


def test_d16_what_came_at_a_full_second_is_seen_too(delivered: str) -> None:
    """SQLite compares times as texts, and Django writes no fraction for a full second."""
    post(notice(delivered, "refund.processed"))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE payments_pages_fulfilment SET money_back_at = '2026-01-01 10:00:00.000'"
        )
    assert staff.decisions.mark_seen(read(), actor="staff") is True
    assert not Fulfilment.objects.get().money_back_unseen


def test_d16_staff_see_it_in_the_list_and_on_the_page_and_say_seen(delivered: str) -> None:
    def person(*codenames: str) -> Client:
        user = User.objects.create_user(f"person{User.objects.count()}", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client = Client()
        client.force_login(user)
        return client

    viewer = person("view_transaction")
    writer = person("view_transaction", "note_transaction")
    post(notice(delivered, "refund.processed"))
    row = read()
    url = reverse("admin:payments_pages_transaction_seen", args=[row.pk])
    page = reverse("admin:payments_pages_transaction_change", args=[row.pk])
    assert "1 payment was delivered, and then refunded or disputed." in (
        viewer.get("/admin/payments_pages/").content.decode()
    )
    listed = viewer.get(PAYMENTS, {"money_back": "unseen"}).context["cl"].result_list
    assert list(listed) == [row]
    shown = viewer.get(page).content.decode()
    assert "Delivered, then refunded or disputed" in shown
    assert "refund.processed" in shown
    assert url not in shown
    assert viewer.post(url).status_code == 403
    seen = writer.get(url).context["seen"]
    # A second refund comes while the first one is looked at.
    post(notice(delivered, "refund.processed"))
    late = writer.post(url, {"seen": seen}, follow=True)
    assert "It has changed since you looked" in late.content.decode()
    assert Fulfilment.objects.get().money_back_unseen
    writer.post(url, {"seen": writer.get(url).context["seen"], "note": "told the payer"})
    assert list(viewer.get(PAYMENTS, {"money_back": "unseen"}).context["cl"].result_list) == []
    assert "Delivered, then" not in viewer.get(page).content.decode()
    line = Event.objects.get(kind="seen")
    assert (line.detail, line.actor.startswith("person")) == ("told the payer", True)
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED
    assert Verification.objects.count() == 1
