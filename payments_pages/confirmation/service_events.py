"""What the service's signed messages say about a payment besides its status.

A payment stays a success at the service when a part of the money goes back, or when the payer
disputes it. So asking the service shows nothing, and the name of the message is all that we learn
(docs/cases.md D16). Nothing of its body is kept.
"""

import logging

from django.db.models import Q

from payments_pages.choices import Door, EventKind, VerificationState
from payments_pages.confirmation import fulfilment, inbox
from payments_pages.confirmation.mirror import find_transaction
from payments_pages.confirmation.timeline import append_to_timeline
from payments_pages.db import is_held, retry_transient
from payments_pages.models import Event, Fulfilment, Verification, primary_alias
from payments_pages.redaction import redact
from payments_pages.signals import service_event

__all__ = [
    "announce_event",
    "append_event",
    "record_money_back",
    "tells_of_money_back",
    "told_of_money_back",
]

logger = logging.getLogger("payments_pages.service_events")

LONGEST = 100
"""Characters of an event's name that are kept."""
MONEY_BACK = ("refund.", "charge.dispute.")
"""How the names of events begin that say: money goes back, or may go back."""


def tells_of_money_back(event: str) -> bool:
    """Say whether an event is about a refund or a dispute."""
    return event.startswith(MONEY_BACK)


def told_of_money_back(reference_key: str) -> bool:
    """Say whether the timeline has an event about a refund or dispute of this reference."""
    lines = Event.objects.primary().filter(
        reference_key=reference_key, kind=EventKind.SERVICE_EVENT
    )
    names = Q(*(Q(detail__startswith=name) for name in MONEY_BACK), _connector=Q.OR)
    return lines.filter(names).exists()


def append_event(reference_key: str, event: str, *, door: Door) -> None:
    """Append the event's name to the timeline, once for each time that it was sent."""
    line = (EventKind.SERVICE_EVENT, redact(event, limit=LONGEST))
    retry_transient(
        lambda _number: append_to_timeline(reference_key, line, door=door),
        using=primary_alias(Fulfilment),
    )


def record_money_back(reference: str, reference_key: str, event: str) -> bool:
    """Let the payment need the attention of staff, once it is delivered, until they have seen it.

    Return False if its handler is running, or if the service is being asked about it and nothing is
    recorded yet: then nothing was marked, and the event must be sent again. Without a delivery
    there is nothing to mark; one that comes later is marked because of the line in the timeline.
    """
    rows = Fulfilment.objects.primary().filter(reference_key=reference_key)
    keys = rows.values_list("pk", flat=True)
    pk = keys.first()
    if pk is None:
        # A rival may ask the service now, and deliver a moment later; the handler may be running in
        # the transaction that records the payment, or it has just been committed.
        asked = inbox.find(reference_key)
        if asked is not None and _is_asked_or_recorded(asked):
            return False
        pk = keys.first()
        if pk is None:
            return True
    if not fulfilment.mark_money_back(pk):
        return False
    logger.warning(
        "payment.money_back: %s: %s",
        reference,
        redact(event, limit=LONGEST),
        extra={"reference": reference, "event": redact(event, limit=LONGEST)},
    )
    return True


def _is_asked_or_recorded(row: Verification) -> bool:
    if row.state == VerificationState.VERIFYING:
        return True
    return is_held(Verification.objects.primary(), row.pk)


def announce_event(reference: str, reference_key: str, event: str) -> None:
    """Send the signal, after the commit."""
    if not service_event.has_listeners(Verification):
        return
    found = find_transaction(reference_key)
    service_event.send_robust(
        sender=Verification,
        reference=reference,
        event=redact(event, limit=LONGEST),
        transaction=found.transaction if found is not None else None,
    )
