"""Carry out what staff decide about a fulfilment: retry, approve, reject.

Each is a compare-and-set on the state staff saw, with its line in the timeline, in one
transaction; the delivery itself then goes through the path like any other.
"""

from django.db import transaction as db_transaction

from payments_pages.choices import Door, EventKind, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.databases import UtcNow
from payments_pages.models import Event, Fulfilment, primary_alias
from payments_pages.policy import POLICY_REASONS

__all__ = ["approve", "may_approve", "may_reject", "may_retry", "reject", "retry"]

_WAITING = frozenset({FulfilmentState.PENDING, FulfilmentState.FAILED})


def may_retry(fulfilment: Fulfilment) -> bool:
    """Say whether a delivery can be tried again: it failed, for now or too often."""
    if fulfilment.state == FulfilmentState.HELD:
        return fulfilment.reason not in POLICY_REASONS
    return fulfilment.state in _WAITING


def may_approve(fulfilment: Fulfilment) -> bool:
    """Say whether staff may accept it against the policy."""
    return fulfilment.state == FulfilmentState.HELD and fulfilment.reason in POLICY_REASONS


def may_reject(fulfilment: Fulfilment) -> bool:
    """Say whether it can be refused: it is held, or was never delivered."""
    return fulfilment.state == FulfilmentState.HELD or fulfilment.state in _WAITING


def retry(fulfilment: Fulfilment, *, actor: str) -> Outcome | None:
    """Try the delivery again now; None when its state has moved on meanwhile."""
    if not may_retry(fulfilment):
        return None
    return _deliver(fulfilment, EventKind.RETRIED, actor=actor, note="")


def approve(fulfilment: Fulfilment, *, actor: str, note: str) -> Outcome | None:
    """Deliver what the policy held; None when its state has moved on meanwhile."""
    if not may_approve(fulfilment):
        return None
    return _deliver(fulfilment, EventKind.APPROVED, actor=actor, note=note, decided_by=actor)


def reject(fulfilment: Fulfilment, *, actor: str, note: str) -> bool:
    """Refuse it for good; the money is given back by other means. False: it has moved on."""
    return may_reject(fulfilment) and _move(
        fulfilment,
        EventKind.REJECTED,
        actor=actor,
        note=note,
        state=FulfilmentState.REJECTED,
        decided_by=actor,
        next_at=None,
    )


def _deliver(
    fulfilment: Fulfilment, kind: EventKind, *, actor: str, note: str, **changes: object
) -> Outcome | None:
    moved = _move(
        fulfilment,
        kind,
        actor=actor,
        note=note,
        state=FulfilmentState.PENDING,
        reason=Reason.NONE,
        next_at=UtcNow(),
        **changes,
    )
    if not moved:
        return None
    return confirm_payment(
        fulfilment.transaction.reference,
        door=Door.ADMIN,
        vouched=True,
        deliver_now=True,
        actor=actor,
    ).outcome


def _move(
    fulfilment: Fulfilment, kind: EventKind, *, actor: str, note: str, **changes: object
) -> bool:
    if note:
        changes["note"] = note
    with db_transaction.atomic(using=primary_alias(Fulfilment), durable=True):
        moved = (
            Fulfilment.objects.primary()
            .filter(
                pk=fulfilment.pk,
                state=fulfilment.state,
                reason=fulfilment.reason,
                attempts=fulfilment.attempts,
            )
            .update(**changes)
        )
        if moved:
            Event.objects.using(primary_alias(Event)).create(
                reference_key=fulfilment.reference_key,
                kind=kind,
                door=Door.ADMIN,
                actor=actor,
                detail=note,
            )
    return bool(moved)
