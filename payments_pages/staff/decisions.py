"""Carry out what staff decide about a payment: verify, retry, approve, reject, attribute, note.

Every decision has the signature of `StaffDecision`. Those about the delivery are a compare-and-set
on the state that staff saw (`transaction.fulfilment`), which writes the line of the timeline in
the same database transaction; the delivery itself then goes through the path like any other.
"""

from typing import Protocol

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
from payments_pages.confirmation import (
    POLICY_REASONS,
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
    PaymentPage,
    Transaction,
    Verification,
    primary_alias,
)
from payments_pages.references import text_key

__all__ = [
    "ATTRIBUTABLE",
    "NOTE_LENGTH",
    "StaffDecision",
    "add_note",
    "approve",
    "attribute",
    "is_of_other_mode",
    "may_approve",
    "may_attribute",
    "may_reject",
    "may_retry",
    "reject",
    "retry",
    "stop_asking",
    "verify",
    "verify_reference",
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
"""Reasons of holds that naming another page can end."""
NOTE_LENGTH = 2000
"""Characters of a note or a reason at most."""

_WAITING = frozenset({FulfilmentState.PENDING, FulfilmentState.FAILED})
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


def is_of_other_mode(fulfilment: Fulfilment) -> bool:
    """Say whether the row was created under the other `MODE`; False while the mode is not known.

    The reference key includes the mode: verifying it now would create a second row. So it waits
    until `MODE` is switched back, or until staff reject it. Needs `fulfilment.transaction`.
    """
    mode = conf.mode_or_blank
    return bool(mode) and fulfilment.reference_key != text_key(
        mode, fulfilment.transaction.reference
    )


def may_retry(transaction: Transaction) -> bool:
    """Say whether a delivery can be tried again: it failed, for now or too often."""
    row = _fulfilment_of(transaction)
    if row is None or is_of_other_mode(row):
        return False
    if row.state == FulfilmentState.HELD:
        return row.reason not in POLICY_REASONS
    return row.state in _WAITING


def may_approve(transaction: Transaction) -> bool:
    """Say whether staff may accept it against the policy.

    Never if it was reversed, and never if the payment's mode (`domain`) is not the mode of its row,
    whatever the reason of the hold: the reference key includes the mode, so after `MODE` is
    corrected the same payment gets a second row and would be delivered twice. Staff reject such a
    hold.
    """
    row = _fulfilment_of(transaction)
    return (
        row is not None
        and row.state == FulfilmentState.HELD
        and row.reason in POLICY_REASONS
        and transaction.status == "success"
        and row.reference_key == text_key(transaction.domain, transaction.reference)
        and not is_of_other_mode(row)
    )


def may_reject(transaction: Transaction) -> bool:
    """Say whether it can be refused: it is held, or was never delivered."""
    row = _fulfilment_of(transaction)
    return row is not None and (row.state == FulfilmentState.HELD or row.state in _WAITING)


def may_attribute(transaction: Transaction) -> bool:
    """Say whether naming a page can help: the payment has none, or does not fit the one it has.

    Not if the merchant's own code expected this reference (our decision): staff approve or reject
    such a payment.
    """
    row = _fulfilment_of(transaction)
    return (
        row is not None
        and row.state == FulfilmentState.HELD
        and row.reason in ATTRIBUTABLE
        and transaction.attributed_by != Attributed.EXPECTED
        and not is_of_other_mode(row)
    )


def _fulfilment_of(transaction: Transaction) -> Fulfilment | None:
    row: Fulfilment | None = getattr(transaction, "fulfilment", None)
    return row


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
    """Refuse the payment for good. The money must be refunded at the service."""
    return may_reject(transaction) and _move(
        transaction.fulfilment,
        EventKind.REJECTED,
        actor=actor,
        note=note,
        door=door,
        state=FulfilmentState.REJECTED,
        decided_by=actor,
        next_at=None,
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
        state__in=[VerificationState.DUE, VerificationState.UNKNOWN],
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
        actor=actor,
        note=note,
        door=door,
        state=FulfilmentState.PENDING,
        reason=Reason.NONE,
        next_at=UtcNow(),
        **changes,
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
    fulfilment: Fulfilment, kind: EventKind, *, actor: str, note: str, door: Door, **changes: object
) -> bool:
    """Change the row if it is still as staff saw it; False also while a delivery locks it.

    If the answer to a commit is lost, the second try finds the row changed and returns False.
    """
    if note:
        changes["note"] = note

    @db_transaction.atomic(using=primary_alias(Fulfilment), durable=True)
    def once(_number: int) -> bool:
        moved = bool(change_unless_held(unmoved(fulfilment), fulfilment.pk, **changes))
        if moved:
            append_to_timeline(fulfilment.reference_key, (kind, note), door=door, actor=actor)
        return moved

    return retry_transient(once, using=primary_alias(Fulfilment))
