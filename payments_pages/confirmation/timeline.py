"""The one writer of the timeline, and the signals that go out with its lines."""

from payments_pages.choices import Door, EventKind, FulfilmentState, Verdict
from payments_pages.confirmation.fulfilment import is_quiet
from payments_pages.confirmation.policy import Decision
from payments_pages.confirmation.statements import INSERT_EVENT
from payments_pages.models import (
    Event,
    Fulfilment,
    Transaction,
    primary_alias,
)
from payments_pages.signals import fulfilment_held, transaction_changed, transaction_confirmed

__all__ = ["announce", "append", "note", "note_decision"]


def note_decision(
    transaction: Transaction,
    before: str,
    decision: Decision | None,
    *,
    door: Door,
    actor: str = "",
    attempt: int = 0,
) -> None:
    """Append what happened to the timeline, in one statement."""
    lines: list[tuple[EventKind, str]] = []
    if attempt:
        lines.append((EventKind.VERIFIED, f"attempt {attempt}: {transaction.status}"))
    if before and before != transaction.status:
        lines.append((EventKind.STATUS_CHANGED, f"{before} → {transaction.status}"))
    if decision is not None:
        accepted = decision.verdict is Verdict.ACCEPT
        by = transaction.attributed_by
        detail = f"{by}{', overpaid' if decision.overpaid else ''}"
        lines.append(
            (EventKind.ACCEPTED, detail) if accepted else (EventKind.HELD, str(decision.reason))
        )
    append(transaction, lines, door=door, actor=actor)


def append(
    transaction: Transaction, lines: list[tuple[EventKind, str]], *, door: Door, actor: str
) -> None:
    """Append lines to the timeline, in one statement; a line is its kind and its detail."""
    events = [
        Event(
            reference_key=transaction.reference_key,
            kind=kind,
            door=door,
            actor=actor,
            detail=detail,
        )
        for kind, detail in lines
    ]
    if events:
        INSERT_EVENT.run_all(primary_alias(Event), events)


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


def note(fulfilment: Fulfilment, kind: EventKind, door: Door, detail: str) -> None:
    """Add a line to the reference's timeline."""
    event = Event(reference_key=fulfilment.reference_key, kind=kind, door=door, detail=detail)
    INSERT_EVENT.run(primary_alias(Event), event)
