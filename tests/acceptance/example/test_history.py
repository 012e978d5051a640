"""The demo's history shows every state, made by real means, and is told once."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from example_project.demo.control import Control
from example_project.demo.history import tell
from example_project.demo.history.fates import ELSEWHERE
from example_project.demo.history.telling import SERVICE_DOWN, UNKNOWN
from example_project.demo.history.troubles import FAILS
from example_project.demo.stock import stock
from example_project.shop.models import Licence, Order
from payments_pages.choices import Attributed, EventKind, FulfilmentState, Reason, VerificationState
from payments_pages.confirmation import sweep_due
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from tests.acceptance.example.conftest import Shop

pytestmark = pytest.mark.timeout(240)

SOLD = 5


class DyingControl(Control):
    """A control whose process is killed after so many posts."""

    def __init__(self, url: str, posts: int) -> None:
        super().__init__(url)
        self.posts = posts

    def post(self, path: str, **body: Any) -> Any:
        self.posts -= 1
        if self.posts < 0 and path != "account":
            raise KeyboardInterrupt
        return super().post(path, **body)


@pytest.fixture
def control(shop: Shop) -> Control:
    control = Control(shop.sandbox.control_url)
    stock(control)
    return control


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log" / "history.log"


@pytest.fixture
def told(control: Control, log: Path) -> Control:
    tell(control, log, sold=SOLD)
    return control


def counts() -> dict[str, int]:
    models = (PaymentPage, Transaction, Fulfilment, Verification, Event, Licence, Order)
    return {model.__name__: model._default_manager.count() for model in models}


def test_the_history_holds_every_state_of_a_delivery_and_every_reason(told: Control) -> None:
    found = set(Fulfilment.objects.values_list("state", "reason"))
    lasting = set(FulfilmentState) - {FulfilmentState.PENDING, FulfilmentState.DELIVERING}
    assert {state for state, _reason in found} == lasting
    reasons = {reason for state, reason in found if state == FulfilmentState.HELD}
    # What is not a success opens no delivery, so nothing is ever held for it at first.
    assert reasons == set(Reason) - {Reason.NONE, Reason.NOT_SUCCESS}
    assert Fulfilment.objects.filter(overpaid=True, state=FulfilmentState.DELIVERED).exists()
    failing = Fulfilment.objects.get(state=FulfilmentState.FAILED)
    assert failing.next_at is not None
    assert failing.next_at > timezone.now() + dt.timedelta(minutes=30)
    assert "ticket printer" in failing.last_error
    assert Fulfilment.objects.get(reason=Reason.ATTEMPTS_SPENT).attempts == 3


def test_the_history_holds_every_status_that_staff_meet(told: Control) -> None:
    statuses = set(Transaction.objects.values_list("status", flat=True))
    assert statuses == {"success", "failed", "abandoned", "reversed", "pending", "ongoing"}
    returned = Transaction.objects.get(status="reversed")
    assert returned.fulfilment.state == FulfilmentState.DELIVERED
    ways = set(Transaction.objects.values_list("attributed_by", flat=True))
    assert ways == {Attributed.NONE, Attributed.EXPECTED, Attributed.METADATA, Attributed.STAFF}


def test_the_history_holds_references_that_are_still_asked_about(told: Control) -> None:
    down = Verification.objects.get(reference=SERVICE_DOWN)
    assert down.state == VerificationState.DUE
    assert "503" in down.last_error
    unknown = Verification.objects.get(reference=UNKNOWN)
    assert (unknown.state, unknown.vouched) == (VerificationState.UNKNOWN, True)


def test_the_history_holds_pages_in_every_state(told: Control) -> None:
    pages = {page.slug: page for page in PaymentPage.objects.all()}
    assert pages["photo-archive"].active
    assert pages["photo-archive"].domain == "test"
    assert not pages["pottery-week"].active
    assert pages["paper-catalogue"].missing_since is not None
    assert pages["poster"].remote_id is None
    assert set(pages["calligraphy"].drift) == {"name", "amount"}
    assert pages["calligraphy"].amount == pages["photo-archive"].amount


def test_staff_have_decided_and_said_why(told: Control) -> None:
    decisions = (
        EventKind.APPROVED,
        EventKind.REJECTED,
        EventKind.REOPENED,
        EventKind.ATTRIBUTED,
        EventKind.NOTED,
    )
    for kind in decisions:
        events = Event.objects.filter(kind=kind)
        assert {event.actor for event in events} == {"admin"}
        assert all(event.detail for event in events)


def test_the_sales_are_spread_over_thirty_days_and_none_is_in_the_future(told: Control) -> None:
    paid = Transaction.objects.filter(paid_at__isnull=False).values_list("paid_at", flat=True)
    assert timezone.now() - dt.timedelta(days=30) < min(paid) < timezone.now() - dt.timedelta(24)
    assert timezone.now() - dt.timedelta(days=1) < max(paid) < timezone.now()
    assert not Transaction.objects.filter(paid_at__lt=F("created_at")).exists()


def test_what_the_shop_wrote_of_a_payment_stands_beside_the_time_it_was_paid(told: Control) -> None:
    """And in order: received, verified, delivered; staff look into it later."""
    minutes = dt.timedelta(minutes=2)
    paid = Transaction.objects.filter(paid_at__isnull=False).select_related("fulfilment")
    for payment in paid:
        assert payment.paid_at is not None
        seen = Verification.objects.get(reference_key=payment.reference_key).created_at
        if payment.reference == SERVICE_DOWN:
            continue
        assert payment.paid_at <= seen < payment.paid_at + minutes, payment.reference
        events = Event.objects.filter(reference_key=payment.reference_key).order_by("pk")
        times = [event.happened_at for event in events]
        assert times == sorted(times)
        assert times[-1] <= timezone.now()
        given = payment.fulfilment.delivered_at
        if given is not None and not any(event.actor for event in events):
            assert seen <= given < payment.paid_at + minutes
            assert payment.fulfilment.licence.created_at == given
    sales = Transaction.objects.exclude(reference__startswith="demo-").order_by("pk")
    moments = [payment.paid_at for payment in sales if payment.paid_at]
    assert moments == sorted(moments)
    assert not PaymentPage.objects.filter(created_at__gt=min(moments)).exclude(slug=ELSEWHERE)


def test_a_delivery_of_the_history_fails_as_often_as_it_is_tried(
    told: Control, configure: Any
) -> None:
    configure(HANDLER="example_project.shop.handlers.deliver", BACKOFF=0.001)
    for _sweep in range(3):
        Fulfilment.objects.filter(state=FulfilmentState.FAILED).update(next_at=timezone.now())
        sweep_due()
    failing = Fulfilment.objects.get(state=FulfilmentState.FAILED)
    assert failing.transaction.reference == FAILS
    assert failing.attempts >= 3


def test_what_another_site_sells_is_mirrored_and_not_offered_here(
    told: Control, client: Client
) -> None:
    page = PaymentPage.objects.get(slug=ELSEWHERE)
    assert not page.sold_here
    assert page.name not in client.get("/").content.decode()


def test_nothing_in_the_history_was_given_twice_or_without_a_payment(told: Control) -> None:
    delivered = Fulfilment.objects.filter(state=FulfilmentState.DELIVERED).count()
    assert Licence.objects.count() == delivered


def test_what_is_told_is_not_told_again(told: Control, shop: Shop, log: Path) -> None:
    before = counts()
    shop.sandbox.faults.clear()  # as after a restart
    tell(told, log, sold=SOLD)
    assert counts() == before
    (fault,) = shop.sandbox.faults.active()
    assert fault.reference == SERVICE_DOWN


@pytest.mark.parametrize("posts", [3, 9, 30])
def test_a_history_that_was_interrupted_is_told_to_its_end(
    control: Control, shop: Shop, log: Path, posts: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        tell(DyingControl(shop.sandbox.control_url, posts), log, sold=SOLD)
    tell(control, log, sold=SOLD)
    assert Transaction.objects.filter(reference__startswith="demo-").count() == 26
    delivered = Fulfilment.objects.filter(state=FulfilmentState.DELIVERED).count()
    assert Licence.objects.count() == delivered


def test_what_the_app_logs_meanwhile_goes_to_a_file(
    told: Control, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "fulfilment.failed: demo-delivery-failed" in log.read_text()
    assert capsys.readouterr().err == ""


def test_webhooks_are_switched_on_again(control: Control, shop: Shop, log: Path) -> None:
    control.post("account", webhook_url="http://127.0.0.1:9/webhook/")
    tell(control, log, sold=0)
    assert shop.sandbox.state.account.webhook_url == "http://127.0.0.1:9/webhook/"
    assert shop.sandbox.deliveries == []
