"""Carry out what staff decide about a payment: verify, retry, approve, reject, attribute and so on.

Every decision has the signature of `StaffDecision`. Those about the delivery are a compare-and-set
on the state that staff saw (`transaction.fulfilment`), which writes the line of the timeline in
the same database transaction; the delivery itself then goes through the path like any other.
"""

from collections.abc import Mapping
from typing import Protocol

from django.db import transaction as db_transaction
from django.db.models import F
from django.utils.translation import gettext as _

from payments_pages.choices import (
    Door,
    EventKind,
    FulfilmentState,
    Outcome,
    Reason,
    VerificationState,
)
from payments_pages.confirmation import (
    Confirmation,
    append_to_timeline,
    assign,
    confirm_payment,
    unmoved,
)
from payments_pages.db import UtcNow, change_unless_held, retry_transient
from payments_pages.exceptions import DecisionError
from payments_pages.models import (
    Fulfilment,
    FulfilmentQuerySet,
    PaymentPage,
    Transaction,
    Verification,
    primary_alias,
)
from payments_pages.staff.conditions import (
    STOPPABLE,
    may_approve,
    may_attribute,
    may_mark_seen,
    may_reject,
    may_reopen,
    may_retry,
)

__all__ = [
    "NOTE_LENGTH",
    "StaffDecision",
    "add_note",
    "approve",
    "attribute",
    "mark_seen",
    "reject",
    "reopen",
    "retry",
    "stop_asking",
    "verify",
    "verify_reference",
]

NOTE_LENGTH = 2000
"""Characters of a note or a reason at most."""

_GIVEN = frozenset({Outcome.DELIVERED, Outcome.DELIVERING, Outcome.DELIVERY_FAILED})


class StaffDecision(Protocol):
    """The signature of every decision about one payment."""

    def __call__(
        self,
        transaction: Transaction,
        *,
        actor: str,
        note: str = "",
        page: PaymentPage | None = None,
        door: Door = Door.ADMIN,
    ) -> Outcome | bool | None:
        """Carry the decision out; return its `Outcome`, or True where there is none.

        None or False: nothing was done. The decision is not possible in the state that
        `transaction.fulfilment` has, or the row has changed since it was read.

        - `actor`: the person's user name, for the timeline.
        - `note`: their reason; `verify` ignores it.
        - `page`: the page that is paid for; only `attribute` uses it.
        - `door`: where the person decided.
        """


def verify(
    transaction: Transaction,
    *,
    actor: str,
    note: str = "",
    page: PaymentPage | None = None,
    door: Door = Door.ADMIN,
) -> Outcome:
    """Ask the service about the payment now, and do what follows from the answer."""
    return verify_reference(transaction.reference, actor=actor, door=door).outcome


def verify_reference(reference: str, *, actor: str, door: Door = Door.ADMIN) -> Confirmation:
    """Ask the service about a reference that staff name, whatever is known about it."""
    return confirm_payment(
        reference, door=door, refresh=True, vouched=True, deliver_now=True, actor=actor
    )


def retry(
    transaction: Transaction,
    *,
    actor: str,
    note: str = "",
    page: PaymentPage | None = None,
    door: Door = Door.ADMIN,
) -> Outcome | None:
    """Try the delivery again now."""
    if not may_retry(transaction):
        return None
    fulfilment = transaction.fulfilment
    return _deliver(fulfilment, EventKind.RETRIED, actor=actor, note=note, door=door)


def approve(
    transaction: Transaction,
    *,
    actor: str,
    note: str = "",
    page: PaymentPage | None = None,
    door: Door = Door.ADMIN,
) -> Outcome | None:
    """Deliver what the policy held.

    The service is asked first. Raise `DecisionError` if its answer is not a success any more, or
    if it gives no answer: then nothing is delivered, and the hold stays.
    """
    if not may_approve(transaction):
        return None
    fulfilment = transaction.fulfilment
    asked = _ask_first(fulfilment, actor, door)
    if asked is None:
        return None
    rows = Transaction.objects.primary().select_related("fulfilment")
    now = rows.get(pk=transaction.pk)
    if now.fulfilment.state == FulfilmentState.HELD and not may_approve(now):
        raise DecisionError(
            _("By the service’s new answer this cannot be approved. Nothing was delivered.")
        )
    given = _deliver(
        fulfilment, EventKind.APPROVED, actor=actor, note=note, door=door, decided_by=actor
    )
    # By the new answer the policy itself may have accepted it.
    return given or (asked if asked in _GIVEN else None)


def reject(
    transaction: Transaction,
    *,
    actor: str,
    note: str = "",
    page: PaymentPage | None = None,
    door: Door = Door.ADMIN,
) -> bool:
    """Refuse the payment. The money must be refunded at the service."""
    return may_reject(transaction) and _move(
        transaction.fulfilment,
        EventKind.REJECTED,
        {"state": FulfilmentState.REJECTED, "decided_by": actor, "next_at": None},
        actor=actor,
        note=note,
        door=door,
    )


def reopen(
    transaction: Transaction,
    *,
    actor: str,
    note: str = "",
    page: PaymentPage | None = None,
    door: Door = Door.ADMIN,
) -> bool:
    """Take a rejection back: the payment is held again, for the reason that it had.

    One that the policy had accepted, and that was rejected before it was delivered, has no such
    reason: it is held as `Reason.TAKEN_BACK`. Nothing is delivered here: the policy decides again
    on new evidence, or staff decide. False also if the payment is not a success any more.
    """
    if not may_reopen(transaction):
        return False
    fulfilment = transaction.fulfilment
    return _move(
        fulfilment,
        EventKind.REOPENED,
        {
            "state": FulfilmentState.HELD,
            "reason": fulfilment.reason or Reason.TAKEN_BACK,
            "decided_by": "",
        },
        actor=actor,
        note=note,
        door=door,
        if_success=True,
    )


def attribute(
    transaction: Transaction,
    *,
    actor: str,
    note: str = "",
    page: PaymentPage | None = None,
    door: Door = Door.ADMIN,
) -> Outcome | None:
    """Say which page it pays for; the policy decides again, and what it accepts is delivered.

    `HELD` when the payment does not fit that page either. The service is asked first, and
    `DecisionError` raised, as in `approve`. Raise `ValueError` without a page.
    """
    if page is None:
        raise ValueError("Name the page that it pays for.")
    if not may_attribute(transaction):
        return None
    fulfilment = transaction.fulfilment
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


def mark_seen(
    transaction: Transaction,
    *,
    actor: str,
    note: str = "",
    page: PaymentPage | None = None,
    door: Door = Door.ADMIN,
) -> bool:
    """Record that staff have seen a reversal, refund or dispute; False if a newer one has come."""
    if not may_mark_seen(transaction):
        return False
    fulfilment = transaction.fulfilment
    seen = unmoved(fulfilment).money_back_by(fulfilment.money_back_at)
    return _move(
        fulfilment,
        EventKind.SEEN,
        {"money_back_unseen": False},
        rows=seen,
        actor=actor,
        note=note,
        door=door,
    )


def add_note(
    transaction: Transaction,
    *,
    actor: str,
    note: str = "",
    page: PaymentPage | None = None,
    door: Door = Door.ADMIN,
) -> bool:
    """Append a note to the timeline; raise `ValueError` for a blank or too long one."""
    if not note.strip() or len(note) > NOTE_LENGTH:
        raise ValueError(f"A note has between 1 and {NOTE_LENGTH} characters.")
    line = (EventKind.NOTED, note)
    append_to_timeline(transaction.reference_key, line, door=door, actor=actor)
    return True


def stop_asking(row: Verification, *, actor: str) -> bool:
    """Stop asking about a reference until it comes in again; False if its row has changed.

    For a payment that the service has called open for weeks, or for a signed success that it never
    confirms. False also while a call about it is running: try again when it has ended.
    """
    ended = Verification.objects.primary().filter(
        pk=row.pk,
        attempts=row.attempts,
        state__in=STOPPABLE,
    )
    using = primary_alias(Verification)

    def stop(_number: int) -> bool:
        with db_transaction.atomic(using=using):
            # Counted as an attempt: a second try after a lost answer then finds the row changed.
            stopped = ended.update(
                state=VerificationState.ENDED, next_at=None, attempts=F("attempts") + 1
            )
            if stopped:
                line = (EventKind.ASKING_ENDED, "")
                append_to_timeline(row.reference_key, line, door=Door.ADMIN, actor=actor)
        return bool(stopped)

    return retry_transient(stop, using=using)


def _deliver(
    fulfilment: Fulfilment, kind: EventKind, *, actor: str, note: str, door: Door, **changes: object
) -> Outcome | None:
    moved = _move(
        fulfilment,
        kind,
        {
            "state": FulfilmentState.PENDING,
            "reason": Reason.NONE,
            "next_at": UtcNow(),
            **changes,
        },
        actor=actor,
        note=note,
        door=door,
    )
    return _confirm(fulfilment, actor, door) if moved else None


def _ask_first(fulfilment: Fulfilment, actor: str, door: Door) -> Outcome | None:
    """Ask the service whether it is still paid, and record the answer as every door does.

    The payment may have been reversed hours ago without a webhook. Return the outcome; None,
    without a call, if the row is not as staff saw it.
    """
    if not unmoved(fulfilment).filter(pk=fulfilment.pk).exists():
        return None
    found = verify_reference(fulfilment.transaction.reference, actor=actor, door=door)
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


def _confirm(fulfilment: Fulfilment, actor: str, door: Door) -> Outcome:
    return confirm_payment(
        fulfilment.transaction.reference,
        door=door,
        vouched=True,
        deliver_now=True,
        actor=actor,
    ).outcome


def _move(
    fulfilment: Fulfilment,
    kind: EventKind,
    changes: Mapping[str, object],
    *,
    actor: str,
    note: str,
    door: Door,
    rows: FulfilmentQuerySet | None = None,
    if_success: bool = False,
) -> bool:
    """Change the row if it is still as staff saw it; False also while a delivery locks it.

    `rows` is the row as staff saw it, by default `unmoved(fulfilment)`. With `if_success` change nothing if the payment has been reversed since staff saw it. If the answer to a commit is lost, the second try finds the row changed and returns False.
    """
    if note:
        changes = {**changes, "note": note}
    using = primary_alias(Fulfilment)
    seen = unmoved(fulfilment) if rows is None else rows
    paid = Transaction.objects.primary().filter(pk=fulfilment.transaction_id, status="success")

    @db_transaction.atomic(using=using, durable=True)
    def once(_number: int) -> bool:
        moved = bool(change_unless_held(seen, fulfilment.pk, **changes))
        if moved and if_success and not paid.exists():
            db_transaction.set_rollback(True, using=using)
            return False
        if moved:
            append_to_timeline(fulfilment.reference_key, (kind, note), door=door, actor=actor)
        return moved

    return retry_transient(once, using=using)
