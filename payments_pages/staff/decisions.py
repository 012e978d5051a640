"""Carry out what staff decide about a payment: retry, approve, reject, attribute, note.

Each is a compare-and-set on the state staff saw, with its line in the timeline, in one
transaction; the delivery itself then goes through the path like any other.
"""

from django.db import transaction as db_transaction
from django.db.models import F
from django.utils.translation import gettext as _

from payments_pages.choices import (
    Attributed,
    Door,
    EventKind,
    FulfilmentState,
    Outcome,
    Reason,
    VerificationState,
)
from payments_pages.conf import conf
from payments_pages.confirmation import POLICY_REASONS, assign, confirm_payment, unmoved
from payments_pages.db import UtcNow, change_unless_held, retry_transient
from payments_pages.exceptions import DecisionError
from payments_pages.models import (
    Event,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
    primary_alias,
)
from payments_pages.references import text_key

__all__ = [
    "ATTRIBUTABLE",
    "NOTE_LENGTH",
    "approve",
    "attribute",
    "is_of_other_mode",
    "may_approve",
    "may_attribute",
    "may_reject",
    "may_retry",
    "note",
    "reject",
    "retry",
    "stop_asking",
]

ATTRIBUTABLE = frozenset(
    {
        Reason.UNATTRIBUTED,
        Reason.ATTRIBUTION_CONFLICT,
        Reason.PAGE_NOT_ON_SALE,
        Reason.OTHER_SITE,
        Reason.AMOUNT_MISMATCH,
        Reason.CURRENCY_MISMATCH,
        Reason.DUPLICATE_PAYMENT,
    }
)
"""Holds that naming another page can end."""
NOTE_LENGTH = 2000
"""Characters of a note or a reason."""

_WAITING = frozenset({FulfilmentState.PENDING, FulfilmentState.FAILED})
_GIVEN = frozenset({Outcome.DELIVERED, Outcome.DELIVERING, Outcome.DELIVERY_FAILED})


def is_of_other_mode(fulfilment: Fulfilment) -> bool:
    """Say whether it was opened while `MODE` was the other one; False while that cannot be told.

    The path would find nothing under its key now, and take its reference for a new one. So it
    waits until `MODE` is that again, or is rejected. Needs `fulfilment.transaction`.
    """
    mode = conf.mode_or_blank
    return bool(mode) and fulfilment.reference_key != text_key(
        mode, fulfilment.transaction.reference
    )


def may_retry(fulfilment: Fulfilment) -> bool:
    """Say whether a delivery can be tried again: it failed, for now or too often."""
    if fulfilment.state == FulfilmentState.HELD:
        failed = fulfilment.reason not in POLICY_REASONS
    else:
        failed = fulfilment.state in _WAITING
    return failed and not is_of_other_mode(fulfilment)


def may_approve(fulfilment: Fulfilment) -> bool:
    """Say whether staff may accept it against the policy.

    Never a payment whose own mode is not the one it was opened under, whatever holds it: a
    reference is one per mode, so once `MODE` is set right the same payment is another row, and
    would be delivered a second time. Such a hold ends by rejecting it. Nor one whose money went
    back to the payer.
    """
    return (
        fulfilment.state == FulfilmentState.HELD
        and fulfilment.transaction.status == "success"
        and fulfilment.reason in POLICY_REASONS
        and _is_of_own_mode(fulfilment)
        and not is_of_other_mode(fulfilment)
    )


def _is_of_own_mode(fulfilment: Fulfilment) -> bool:
    paid = fulfilment.transaction
    return fulfilment.reference_key == text_key(paid.domain, paid.reference)


def may_reject(fulfilment: Fulfilment) -> bool:
    """Say whether it can be refused: it is held, or was never delivered."""
    return fulfilment.state == FulfilmentState.HELD or fulfilment.state in _WAITING


def may_attribute(fulfilment: Fulfilment) -> bool:
    """Say whether naming a page can help: it is held for want of one, or the page does not fit.

    What the merchant's own code expected of a reference is not overruled (our decision): that is
    approved or rejected. `fulfilment.transaction` must be at hand.
    """
    return (
        fulfilment.state == FulfilmentState.HELD
        and fulfilment.reason in ATTRIBUTABLE
        and fulfilment.transaction.attributed_by != Attributed.EXPECTED
        and not is_of_other_mode(fulfilment)
    )


def retry(fulfilment: Fulfilment, *, actor: str) -> Outcome | None:
    """Try the delivery again now; None when its state has moved on meanwhile."""
    if not may_retry(fulfilment):
        return None
    return _deliver(fulfilment, EventKind.RETRIED, actor=actor, note="")


def approve(fulfilment: Fulfilment, *, actor: str, note: str) -> Outcome | None:
    """Deliver what the policy held; None when its state has moved on meanwhile.

    The service is asked first. Raise `DecisionError` for what it does not call a success any more,
    or when it gives no answer: then nothing is delivered, and the hold stays.
    """
    if not may_approve(fulfilment):
        return None
    asked = _ask_first(fulfilment, actor)
    if asked is None:
        return None
    given = _deliver(fulfilment, EventKind.APPROVED, actor=actor, note=note, decided_by=actor)
    # By the new answer the rules themselves may have accepted it.
    return given or (asked if asked in _GIVEN else None)


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


def attribute(
    fulfilment: Fulfilment,
    page: PaymentPage,
    *,
    actor: str,
    note: str = "",
    door: Door = Door.ADMIN,
) -> Outcome | None:
    """Say which page it pays for; the policy decides again, and what it accepts is delivered.

    `HELD` when the payment does not fit that page either. None when its state has moved on. The
    service is asked first, as for `approve`; raise `DecisionError` as that does.
    """
    if not may_attribute(fulfilment):
        return None
    if _ask_first(fulfilment, actor, door) is None:
        return None
    decided = retry_transient(
        lambda _number: assign(fulfilment, page, door=door, actor=actor, note=note),
        using=primary_alias(Fulfilment),
    )
    if decided is None:
        return None
    if decided.state == FulfilmentState.HELD:
        return Outcome.HELD
    return _confirm(fulfilment, actor, door)


def note(transaction: Transaction, text: str, *, actor: str) -> None:
    """Append a note to the timeline; raise `ValueError` for a blank or too long one."""
    if not text.strip() or len(text) > NOTE_LENGTH:
        raise ValueError(f"A note has between 1 and {NOTE_LENGTH} characters.")
    Event.objects.using(primary_alias(Event)).create(
        reference_key=transaction.reference_key,
        kind=EventKind.NOTED,
        door=Door.ADMIN,
        actor=actor,
        detail=text,
    )


def stop_asking(row: Verification, *, actor: str) -> bool:
    """Ask no more about a reference until somebody names it again; False: it has moved on.

    For a payment that the service has called open for weeks, or a signed success that it never
    confirms. An ask under way is not cut off: try again once it has ended.
    """
    ended = Verification.objects.primary().filter(
        pk=row.pk,
        attempts=row.attempts,
        state__in=[VerificationState.DUE, VerificationState.UNKNOWN],
    )
    using = primary_alias(Verification)

    def stop(_number: int) -> bool:
        with db_transaction.atomic(using=using):
            # The attempt rises, so that a second try after a lost answer finds that it has moved.
            stopped = ended.update(
                state=VerificationState.ENDED, next_at=None, attempts=F("attempts") + 1
            )
            if stopped:
                Event.objects.using(using).create(
                    reference_key=row.reference_key,
                    kind=EventKind.ASKING_ENDED,
                    door=Door.ADMIN,
                    actor=actor,
                )
        return bool(stopped)

    return retry_transient(stop, using=using)


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
    return _confirm(fulfilment, actor) if moved else None


def _ask_first(fulfilment: Fulfilment, actor: str, door: Door = Door.ADMIN) -> Outcome | None:
    """Ask the service whether it is still paid; what the answer changes is recorded as always.

    The money may have gone back hours ago, and nobody told us. Return what came of asking; None,
    and ask nothing, when it is not as it was seen.
    """
    if not unmoved(fulfilment).filter(pk=fulfilment.pk).exists():
        return None
    found = confirm_payment(
        fulfilment.transaction.reference,
        door=door,
        refresh=True,
        vouched=True,
        deliver_now=True,
        actor=actor,
    )
    mirrored = found.transaction.status if found.transaction is not None else ""
    if not found.answered:
        raise DecisionError(
            _(
                "The service could not be asked whether this is still paid, and nothing was done. "
                "Try again in a moment."
            )
        )
    refused = next((status for status in (found.answered, mirrored) if status != "success"), "")
    if refused:
        raise DecisionError(
            _("The service says “%(status)s” about this payment now. Nothing was delivered.")
            % {"status": refused}
        )
    return found.outcome


def _confirm(fulfilment: Fulfilment, actor: str, door: Door = Door.ADMIN) -> Outcome:
    return confirm_payment(
        fulfilment.transaction.reference,
        door=door,
        vouched=True,
        deliver_now=True,
        actor=actor,
    ).outcome


def _move(
    fulfilment: Fulfilment, kind: EventKind, *, actor: str, note: str, **changes: object
) -> bool:
    """Move it on from where it was seen; False at once when somebody is delivering it.

    A commit whose answer is lost looks as if it had moved.
    """
    if note:
        changes["note"] = note

    @db_transaction.atomic(using=primary_alias(Fulfilment), durable=True)
    def once(_number: int) -> bool:
        moved = bool(change_unless_held(unmoved(fulfilment), fulfilment.pk, **changes))
        if moved:
            Event.objects.using(primary_alias(Event)).create(
                reference_key=fulfilment.reference_key,
                kind=kind,
                door=Door.ADMIN,
                actor=actor,
                detail=note,
            )
        return moved

    return retry_transient(once, using=primary_alias(Fulfilment))
