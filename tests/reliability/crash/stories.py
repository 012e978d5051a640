"""The runs that are broken: what comes before, and the act itself.

Each names a reference and leaves it in a state from which the sweep, or for a reference that
nobody noted the payer's reload, must end at "delivered, once"; where staff refuse it, at "rejected, nothing given".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction as db_transaction

from payments_pages.choices import Door, EventKind, FulfilmentState, Outcome
from payments_pages.confirmation import (
    confirm_payment,
    confirm_payment_on_commit,
    sweep_due,
    take_message,
)
from payments_pages.models import Event, Fulfilment, PaymentPage, Verification
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment

__all__ = ["ACTS", "STORIES", "Scene", "Story"]

HOUR = 3600


@dataclass(frozen=True, slots=True)
class Scene:
    """What a story is told with."""

    sandbox: Sandbox
    page: PaymentPage
    configure: Callable[..., None]

    def confirm(self, reference: str, **more: Any) -> Outcome:
        return confirm_payment(reference, **{"door": Door.WEBHOOK, "vouched": True} | more).outcome


def _callback(reference: str, token: str) -> Outcome:
    return confirm_payment(reference, door=Door.CALLBACK, page_token=UUID(token)).outcome


def _webhook(reference: str, token: str) -> Outcome:
    return confirm_payment(reference, door=Door.WEBHOOK, vouched=True).outcome


def _refresh(reference: str, token: str) -> Outcome:
    return confirm_payment(reference, door=Door.WEBHOOK, vouched=True, refresh=True).outcome


def _sweep(reference: str, token: str) -> None:
    sweep_due()


def _worker(reference: str, token: str) -> Outcome | None:
    return take_message(reference)


def _on_commit(reference: str, token: str) -> None:
    with db_transaction.atomic():
        confirm_payment_on_commit(reference)


def _approve(reference: str, token: str) -> Outcome | None:
    row = Fulfilment.objects.get(transaction__reference=reference)
    return decisions.approve(row.transaction, actor="Rana", note="paid the rest in cash")


def _attribute(reference: str, token: str) -> Outcome | None:
    row = Fulfilment.objects.select_related("transaction").get(transaction__reference=reference)
    return decisions.attribute(
        row.transaction, page=PaymentPage.objects.get(token=UUID(token)), actor="Rana"
    )


def _reject(reference: str, token: str) -> None:
    row = Fulfilment.objects.get(transaction__reference=reference)
    decisions.reject(row.transaction, actor="Omar", note="sent back")


def _retry(reference: str, token: str) -> Outcome | None:
    row = Fulfilment.objects.get(transaction__reference=reference)
    return decisions.retry(row.transaction, actor="Rana")


ACTS: Mapping[str, Callable[[str, str], Outcome | None]] = {
    "callback": _callback,
    "webhook": _webhook,
    "refresh": _refresh,
    "sweep": _sweep,
    "worker": _worker,
    "on commit": _on_commit,
    "approve": _approve,
    "attribute": _attribute,
    "reject": _reject,
    "retry": _retry,
}


def _paid(scene: Scene, reference: str) -> None:
    scene.sandbox.pay("tea-box", reference=reference)


def _pending_then_paid(scene: Scene, reference: str) -> None:
    scene.sandbox.pay("tea-box", reference=reference, status="pending")
    assert scene.confirm(reference, page_token=scene.page.token) is Outcome.PENDING
    scene.sandbox.set_transaction(reference, status="success")
    let_time_pass(HOUR)


def _held_for_want_of_a_page(scene: Scene, reference: str) -> None:
    _paid(scene, reference)
    assert scene.confirm(reference) is Outcome.HELD


def _failed(scene: Scene, reference: str) -> None:
    scene.configure(HANDLER="tests.reliability.crash.handlers.decline")
    _paid(scene, reference)
    assert scene.confirm(reference, page_token=scene.page.token) is Outcome.DELIVERY_FAILED
    scene.configure(HANDLER="tests.support.goods.handlers.give")
    let_time_pass(HOUR)


def _given_up(scene: Scene, reference: str) -> None:
    scene.configure(HANDLER="tests.reliability.crash.handlers.decline_for_good")
    _paid(scene, reference)
    assert scene.confirm(reference, page_token=scene.page.token) is Outcome.HELD


def _queued(scene: Scene, reference: str) -> None:
    scene.configure(**QUEUED)
    _paid(scene, reference)
    assert scene.confirm(reference, page_token=scene.page.token) is Outcome.DELIVERING


def _queued_and_failed(scene: Scene, reference: str) -> None:
    _queued(scene, reference)
    scene.configure(HANDLER="tests.reliability.crash.handlers.decline")
    assert take_message(reference) is Outcome.DELIVERY_FAILED


def _unanswered(scene: Scene, reference: str) -> None:
    _paid(scene, reference)
    # Twice, because the client repeats a failed call once.
    scene.sandbox.faults.add(
        operation="verify", kind="status", status=503, times=2, reference=reference
    )


def _unknown_yet(scene: Scene, reference: str) -> None:
    _paid(scene, reference)
    scene.sandbox.faults.add(
        operation="verify", kind="status", status=404, times=1, reference=reference
    )


def _pending_yet(scene: Scene, reference: str) -> None:
    _paid(scene, reference)
    scene.sandbox.faults.add(
        operation="verify",
        kind="patch",
        data={"status": "pending"},
        times=1,
        reference=reference,
    )


def _expected(scene: Scene, reference: str) -> None:
    expect_payment(reference, amount=7000)
    scene.sandbox.pay("tea-box", reference=reference, amount=7000)


def _held_for_its_amount(scene: Scene, reference: str) -> None:
    scene.sandbox.pay("tea-box", reference=reference, amount=9999)
    assert scene.confirm(reference, page_token=scene.page.token) is Outcome.HELD


def _left_in_the_middle(scene: Scene, reference: str) -> None:
    _failed(scene, reference)
    Fulfilment.objects.filter(transaction__reference=reference).update(state="delivering")


def _delivered_then_reversed(scene: Scene, reference: str) -> None:
    _paid(scene, reference)
    assert scene.confirm(reference, page_token=scene.page.token) is Outcome.DELIVERED
    scene.sandbox.set_transaction(reference, status="reversed")
    let_time_pass(HOUR)


def _has(kind: EventKind) -> Callable[[str], bool]:
    """Look for a decision of staff in the timeline."""

    def noted(reference: str) -> bool:
        return Event.objects.filter(reference_key=reference_key(reference), kind=kind).exists()

    return noted


def _is_claimed(reference: str) -> bool:
    return Verification.objects.filter(reference=reference, page_claim__isnull=False).exists()


@dataclass(frozen=True, slots=True)
class Story:
    """Tell what comes `before`, and the `act` that is broken.

    `least` is how many points it has where it has the fewest: on PostgreSQL, handler atomic.
    `told` is the outcome when nothing breaks: without it a story might be another than its name.
    `settings` hold for the act. `noted`, for acts that decide, says whether the act left its
    trace: then all `ends` so; if it did not, it ends `otherwise`, for most in the hold that was,
    and whoever acted must come again. `delivers` says whether it comes as far as the handler.
    """

    act: str
    before: Callable[[Scene, str], None]
    least: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    noted: Callable[[str], bool] = lambda reference: True
    delivers: bool = True
    told: Outcome | None = Outcome.DELIVERED
    ends: FulfilmentState = FulfilmentState.DELIVERED
    otherwise: FulfilmentState = FulfilmentState.HELD


FAILS_ONCE = {"HANDLER": "tests.support.goods.handlers.fail_first"}
QUEUED = {"DELIVERY": "queued", "NUDGE": "tests.integration.queues.senders.keep"}

STORIES: Mapping[str, Story] = {
    "a payer comes back": Story("callback", _paid, 9),
    "a webhook, expected beforehand": Story("webhook", _expected, 11),
    "paid at the second look": Story("callback", _pending_then_paid, 13),
    "still pending": Story("callback", _pending_yet, 9, delivers=False, told=Outcome.PENDING),
    "the service is down": Story(
        "callback", _unanswered, 4, delivers=False, told=Outcome.UNAVAILABLE
    ),
    "the service does not know it yet": Story(
        "callback", _unknown_yet, 4, delivers=False, told=Outcome.UNKNOWN
    ),
    "the payer lifts a hold": Story("callback", _held_for_want_of_a_page, 15, noted=_is_claimed),
    "the handler fails": Story("callback", _paid, 13, FAILS_ONCE, told=Outcome.DELIVERY_FAILED),
    "a failed delivery, by a door": Story("callback", _failed, 8),
    "a failed delivery, by the sweep": Story("sweep", _failed, 17, told=None),
    "a lease that ended, by the sweep": Story("sweep", _left_in_the_middle, 17, told=None),
    "a due question, by the sweep": Story("sweep", _pending_then_paid, 22, told=None),
    "after the merchant's own commit": Story("on commit", _expected, 19, told=None),
    "a door that queues": Story(
        "callback", _paid, 10, QUEUED, delivers=False, told=Outcome.DELIVERING
    ),
    "a door that queues again": Story(
        "callback", _queued, 4, delivers=False, told=Outcome.DELIVERING
    ),
    "a worker takes the message": Story("worker", _queued, 8),
    "a worker tries again": Story("worker", _queued_and_failed, 8),
    "a worker is first to hear of it": Story("worker", _expected, 11),
    "staff approve": Story("approve", _held_for_its_amount, 13, noted=_has(EventKind.APPROVED)),
    "staff name the page": Story(
        "attribute", _held_for_want_of_a_page, 17, noted=_has(EventKind.ATTRIBUTED)
    ),
    "staff try again": Story("retry", _failed, 13),
    "staff try again what was given up": Story(
        "retry", _given_up, 13, noted=_has(EventKind.RETRIED)
    ),
    "staff refuse what is held": Story(
        "reject",
        _held_for_its_amount,
        4,
        noted=_has(EventKind.REJECTED),
        delivers=False,
        told=None,
        ends=FulfilmentState.REJECTED,
    ),
    "staff refuse what failed": Story(
        "reject",
        _failed,
        4,
        noted=_has(EventKind.REJECTED),
        delivers=False,
        told=None,
        ends=FulfilmentState.REJECTED,
        otherwise=FulfilmentState.DELIVERED,
    ),
    "reversed after delivery": Story(
        "refresh", _delivered_then_reversed, 9, delivers=False, told=Outcome.ALREADY_DELIVERED
    ),
}
