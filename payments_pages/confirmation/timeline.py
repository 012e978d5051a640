"""The only writer of the timeline, and the signals that are sent with its lines."""

from collections.abc import Sequence

from django.db import IntegrityError

from payments_pages.choices import Door, EventKind, FulfilmentState, Reason, Verdict
from payments_pages.confirmation.fulfilment import is_quiet
from payments_pages.confirmation.policy import Decision
from payments_pages.confirmation.statements import INSERT_DELIVERED_EVENT, INSERT_EVENT
from payments_pages.models import Event, Fulfilment, Transaction, primary_alias
from payments_pages.signals import fulfilment_held, transaction_changed, transaction_confirmed

__all__ = ["Line", "announce", "append_delivery", "append_to_timeline", "lines_about"]

Line = tuple[EventKind, str]
"""The kind of the event, and its details in words."""


def append_to_timeline(reference_key: str, *lines: Line, door: Door, actor: str = "") -> None:
    """Append lines to the timeline of a reference, in one statement.

    Must be called in the transaction that makes the change.
    """
    events = [
        Event(reference_key=reference_key, kind=kind, door=door, actor=actor, detail=detail)
        for kind, detail in lines
    ]
    if events:
        INSERT_EVENT.run_all(primary_alias(Event), events)


def append_delivery(
    fulfilment: Fulfilment, *, door: Door, before: Sequence[Line] = (), actor: str = ""
) -> bool:
    """Append the line of a delivery; return False if its row is not `delivered` by this attempt.

    Then the transaction cannot go on. The lines `before` it are appended in the same statement, in
    the name of the `actor`.
    """
    events = [
        *(Event(kind=kind, door=door, actor=actor, detail=detail) for kind, detail in before),
        Event(
            kind=EventKind.DELIVERED, door=door, actor="", detail=f"attempt {fulfilment.attempts}"
        ),
    ]
    try:
        INSERT_DELIVERED_EVENT.run_all(
            primary_alias(Event), events, pk=fulfilment.pk, attempt=fulfilment.attempts
        )
    except IntegrityError:
        return False
    return True


def lines_about(
    transaction: Transaction, before: str, decision: Decision | None, *, attempt: int = 0
) -> Sequence[Line]:
    """Return the lines about an answer of the service and the decision.

    - `before` is the status that was mirrored before; "" if there was none.
    - `decision` is None if nothing new was decided.
    - `attempt` is 0 if the service was not asked.
    """
    lines: list[Line] = []
    if attempt:
        lines.append((EventKind.VERIFIED, f"attempt {attempt}: {transaction.status}"))
    if before and before != transaction.status:
        lines.append((EventKind.STATUS_CHANGED, f"{before} → {transaction.status}"))
    if decision is None:
        return lines
    if decision.verdict is Verdict.ACCEPT:
        overpaid = ", overpaid" if decision.overpaid else ""
        lines.append((EventKind.ACCEPTED, f"{transaction.attributed_by}{overpaid}"))
    else:
        lines.append((EventKind.HELD, str(decision.reason)))
    return lines


def announce(
    transaction: Transaction, before: str, changed: Fulfilment | None, *, opened: bool = False
) -> None:
    """Send the signals, after the commit.

    `changed` is the fulfilment if it was opened or changed. `fulfilment_held` is not sent if
    another site delivers the payment, and not yet for an unattributed hold that was `opened` just
    now: its payer may still come back (the sweep sends it, `unattributed.conclude`).
    """
    if transaction.status == "success" and before != "success":
        transaction_confirmed.send_robust(sender=Transaction, transaction=transaction)
    elif before and before != transaction.status:
        transaction_changed.send_robust(
            sender=Transaction, transaction=transaction, previous=before
        )
    if changed is None or is_quiet(changed):
        return
    in_grace = opened and changed.reason == Reason.UNATTRIBUTED
    if changed.state == FulfilmentState.HELD and not in_grace:
        fulfilment_held.send_robust(sender=Fulfilment, fulfilment=changed)
