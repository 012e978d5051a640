"""Set back the times of what was told, so that a month looks like a month.

The path writes the time at which it runs. Nothing else is changed here: each row keeps what the
path wrote, and the rows of one reference keep their order.
"""

import datetime as dt
from itertools import accumulate

from django.db import transaction as db_transaction

from example_project.shop.models import Licence, Order
from payments_pages.choices import EventKind, VerificationState
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    SavedCard,
    Transaction,
    Verification,
)

__all__ = ["set_back", "set_back_page"]

_WAY_BACK = dt.timedelta(seconds=2)
"""What a payer, or a webhook, takes from the service's page to the shop."""
_ORDERED_BEFORE = dt.timedelta(minutes=3)
_STAFF = dt.timedelta(minutes=47)
"""What staff take to look into something."""
_PAUSES = {
    EventKind.DELIVERY_FAILED: dt.timedelta(minutes=20),
    EventKind.STATUS_CHANGED: dt.timedelta(days=2),
}
"""What passes before such an event, unless it is the first of its kind."""


def set_back() -> None:
    """Set back the rows of every payment to when it was paid, or begun; again changes nothing."""
    for payment in Transaction.objects.select_related("fulfilment"):
        began = payment.paid_at or payment.created_at
        events = list(Event.objects.filter(reference_key=payment.reference_key).order_by("pk"))
        if began is not None and events and events[0].happened_at - began > dt.timedelta(minutes=2):
            with db_transaction.atomic():
                _set_back(payment, events, began)


def _set_back(payment: Transaction, events: list[Event], began: dt.datetime) -> None:
    shift = events[0].happened_at - began - _WAY_BACK
    moments = [
        event.happened_at - shift + pause
        for event, pause in zip(events, accumulate(_pauses(events)), strict=True)
    ]
    for event, moment in zip(events, moments, strict=True):
        Event.objects.filter(pk=event.pk).update(happened_at=moment)
    key = payment.reference_key
    # What waits keeps its schedule.
    settled = Verification.objects.filter(reference_key=key, state=VerificationState.SETTLED)
    settled.update(named_at=moments[0], asked_at=moments[0])
    Verification.objects.filter(reference_key=key).update(created_at=moments[0])
    Transaction.objects.filter(pk=payment.pk).update(verified_at=moments[0] + _WAY_BACK)
    ordered = began - _ORDERED_BEFORE
    if payment.expected_payment is not None and payment.expected_payment.reference_key == key:
        ExpectedPayment.objects.filter(reference_key=key).update(created_at=ordered)
        Order.objects.filter(expected__reference_key=key).update(created_at=ordered)
    arrived = moments[0] + _WAY_BACK
    SavedCard.objects.filter(first_payment=payment).update(created_at=arrived, saved_at=arrived)
    fulfilments = Fulfilment.objects.filter(transaction=payment)
    fulfilments.update(created_at=arrived)
    given = [m for e, m in zip(events, moments, strict=True) if e.kind == EventKind.DELIVERED]
    if given:
        fulfilments.update(delivered_at=given[-1])
        Licence.objects.filter(fulfilment__transaction=payment).update(created_at=given[-1])


def _pauses(events: list[Event]) -> list[dt.timedelta]:
    seen: set[str] = set()
    pauses = []
    for event in events:
        again = event.kind in seen or event.kind == EventKind.STATUS_CHANGED
        pause = _PAUSES.get(EventKind(event.kind), dt.timedelta()) if again else dt.timedelta()
        pauses.append(_STAFF if event.actor else pause)
        seen.add(event.kind)
    return pauses


def set_back_page(slug: str, moment: dt.datetime) -> None:
    """Set back the time since when a page is off sale, whatever took it off."""
    pages = PaymentPage.objects.filter(slug=slug)
    pages.filter(inactive_since__gt=moment).update(inactive_since=moment)
    pages.filter(missing_since__gt=moment).update(missing_since=moment)
