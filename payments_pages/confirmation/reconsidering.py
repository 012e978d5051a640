"""Decide again about a payment that is recorded already, when there is more to go by."""

from uuid import UUID

from django.db import transaction as db_transaction

from payments_pages.choices import Attributed, Door, EventKind, FulfilmentState, Reason
from payments_pages.confirmation.attribution import Attribution
from payments_pages.confirmation.fulfilment import UNFINISHED, revise, stands
from payments_pages.confirmation.mirror import attach
from payments_pages.confirmation.recording import (
    announce,
    append,
    attribution_of,
    decide_about,
    decision_on,
    evidence_of,
    note_decision,
)
from payments_pages.confirmation.verification import fence_off
from payments_pages.db.transient import tried_again
from payments_pages.models import Fulfilment, PaymentPage, Transaction, primary_alias

__all__ = ["LIFTABLE", "assign", "reconsider"]

LIFTABLE = frozenset({Reason.UNATTRIBUTED, Reason.PAGE_NOT_ON_SALE, Reason.OTHER_SITE})
"""Holds that end by themselves, without a new answer, once what is known of pages has changed."""


def reconsider(transaction: Transaction, *, page_claim: UUID | None, door: Door) -> bool:
    """Decide again about what is open, by what is known now; True when that changed it.

    - Held for want of attribution, and now there is a claim to a page: a webhook may come before
      the payer does, and then nothing says what was paid for until the callback's claim arrives
      (our decision).
    - Held for what was wrong with its page, which may be right by now: it is on sale again, or staff
      said that this site sells it.
    - Held, and the claim that it was attributed by has given way to another.
    - Not delivered, and no success any more: it was reversed while an attempt was under way, which
      then came to nothing (case C14). What staff have approved is theirs to decide.
    """
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is None:
        return False
    stopped = fulfilment.state in UNFINISHED and transaction.status != "success"
    held = fulfilment.state == FulfilmentState.HELD
    if not held and (not stopped or fulfilment.decided_by):
        return False
    evidence = evidence_of(transaction, transaction.reference_key, page_claim)
    attribution = attribution_of(transaction, evidence)
    if held and not _is_new(transaction, fulfilment, attribution):
        return False
    return _revise(transaction, fulfilment, attribution, door=door)


def _is_new(transaction: Transaction, fulfilment: Fulfilment, attribution: Attribution) -> bool:
    """Say whether a hold must be decided again: what it pays for, or its page, has changed."""
    if _is_other(transaction, attribution):
        return True
    if fulfilment.reason == Reason.ATTRIBUTION_CONFLICT:
        return not attribution.conflict
    return fulfilment.reason in LIFTABLE and not stands(
        fulfilment, decision_on(transaction, attribution)
    )


def _is_other(transaction: Transaction, attribution: Attribution) -> bool:
    known = (transaction.attributed_by, transaction.page, transaction.expected_payment)
    return known != (attribution.by, attribution.page, attribution.expected)


def _revise(
    transaction: Transaction, fulfilment: Fulfilment, attribution: Attribution, *, door: Door
) -> bool:
    state, reason = fulfilment.state, fulfilment.reason
    new = _is_other(transaction, attribution)

    @db_transaction.atomic(using=primary_alias(Fulfilment), durable=True)
    def once(_number: int) -> bool:
        fulfilment.state, fulfilment.reason = state, reason
        decision = decide_about(transaction, attribution)
        if not revise(fulfilment, decision):
            return False
        if new:
            attach(transaction, attribution)
        note_decision(transaction, transaction.status, decision, door=door)
        return True

    changed = tried_again(once, using=primary_alias(Fulfilment))
    if changed:
        announce(transaction, transaction.status, fulfilment)
    return changed


def assign(
    seen: Fulfilment, page: PaymentPage, *, door: Door, actor: str, note: str
) -> Fulfilment | None:
    """Write down which page staff say a held payment pays for, and decide again by the policy.

    None when the fulfilment is no longer as it was `seen`: state, reason and attempt. Their word
    says what is paid for, never that the amount is enough (our decision): a payment that does not
    fit the page stays held, with the reason that is true then. An expected payment that the
    payer's side had named is let go.
    """
    attribution = Attribution(by=Attributed.STAFF, page=page)
    with db_transaction.atomic(using=primary_alias(Fulfilment), durable=True):
        fence_off(seen.reference_key)
        transaction = (
            Transaction.objects.primary().select_related("fulfilment").get(pk=seen.transaction_id)
        )
        fulfilment: Fulfilment = transaction.fulfilment
        decision = decide_about(transaction, attribution)
        if _moved(fulfilment, seen) or not revise(fulfilment, decision):
            # Nothing was said: whoever asks keeps the fence, an expected payment is not taken.
            db_transaction.set_rollback(True, using=primary_alias(Fulfilment))
            return None
        attach(transaction, attribution)
        detail = ": ".join(filter(None, (page.slug, note)))
        append(transaction, [(EventKind.ATTRIBUTED, detail)], door=door, actor=actor)
        note_decision(transaction, transaction.status, decision, door=door, actor=actor)
    announce(transaction, transaction.status, fulfilment)
    return fulfilment


def _moved(fulfilment: Fulfilment, seen: Fulfilment) -> bool:
    return (fulfilment.state, fulfilment.reason, fulfilment.attempts) != (
        seen.state,
        seen.reason,
        seen.attempts,
    )
