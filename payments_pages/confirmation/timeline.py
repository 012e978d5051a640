"""The one writer of the timeline, and the signals that go out with its lines."""

from collections.abc import Sequence

from payments_pages.choices import Door, EventKind, FulfilmentState, Verdict
from payments_pages.confirmation.fulfilment import is_quiet
from payments_pages.confirmation.policy import Decision
from payments_pages.confirmation.statements import INSERT_EVENT
from payments_pages.models import Event, Fulfilment, Transaction, primary_alias
from payments_pages.signals import fulfilment_held, transaction_changed, transaction_confirmed

__all__ = ["Line", "announce", "append_to_timeline", "lines_about"]

Line = tuple[EventKind, str]
"""What happened, and its details in words."""


def append_to_timeline(reference_key: str, *lines: Line, door: Door, actor: str = "") -> None:
    """Append lines to the timeline of a reference, in one statement.

    Must be part of the transaction that makes true what they say.
    """
    events = [
        Event(reference_key=reference_key, kind=kind, door=door, actor=actor, detail=detail)
        for kind, detail in lines
    ]
    if events:
        INSERT_EVENT.run_all(primary_alias(Event), events)


def lines_about(
    transaction: Transaction, before: str, decision: Decision | None, *, attempt: int = 0
) -> Sequence[Line]:
    """Return the lines about an answer of the service and what was decided by it.

    `before` is the status that was mirrored before, `decision` is None if nothing new was decided,
    `attempt` is 0 if the service was not asked.
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


def announce(transaction: Transaction, before: str, changed: Fulfilment | None) -> None:
    """Send the signals, after the commit. Nobody is called for what another site delivers."""
    if transaction.status == "success" and before != "success":
        transaction_confirmed.send_robust(sender=Transaction, transaction=transaction)
    elif before and before != transaction.status:
        transaction_changed.send_robust(
            sender=Transaction, transaction=transaction, previous=before
        )
    if changed is None or is_quiet(changed):
        return
    if changed.state == FulfilmentState.HELD:
        fulfilment_held.send_robust(sender=Fulfilment, fulfilment=changed)
