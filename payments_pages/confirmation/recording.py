"""Record an answer of the service: attribute, mirror, decide and open, in one short transaction.

The first statement sets the verification's state by its fence; only the winner writes the rest.
No network call is made in here.
"""

import logging
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import DatabaseError, IntegrityError
from django.db import transaction as db_transaction

from payments_pages.choices import Attributed, Door, EventKind, FulfilmentState, Reason, Verdict
from payments_pages.client import TransactionResource
from payments_pages.conf import conf
from payments_pages.confirmation.attribution import (
    Attribution,
    attribute,
)
from payments_pages.confirmation.evidence import (
    attribution_of,
    decide_about,
    decision_on,
    evidence_of,
)
from payments_pages.confirmation.fulfilment import UNFINISHED, open_fulfilment, revise, stands
from payments_pages.confirmation.inbox import claimed_page
from payments_pages.confirmation.mirror import (
    attach,
    find_transaction,
    merge_answer,
    write,
)
from payments_pages.confirmation.timeline import announce, append_to_timeline, lines_about
from payments_pages.confirmation.verification import Claim, fence_off, settle
from payments_pages.db import is_transient, retry_transient
from payments_pages.models import (
    Fulfilment,
    PaymentPage,
    Transaction,
    fulfilment_of,
    primary_alias,
)

__all__ = ["LIFTABLE", "Recorded", "assign", "reconsider", "record"]

logger = logging.getLogger("payments_pages.recording")


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was written. `claimed` is the delivery, if it is this caller's to make."""

    transaction: Transaction
    claimed: Fulfilment | None


def record(
    claim: Claim,
    resource: TransactionResource,
    *,
    key: str,
    existing: Transaction | None,
    page_claim: UUID | None,
    door: Door,
    actor: str = "",
    claim_delivery: bool = True,
) -> Recorded | None:
    """Write a verified answer down; None when a later attempt has fenced this one off.

    `existing` is the mirror as it was when the claim was won. With `claim_delivery`, a delivery
    that is opened is claimed for this caller; else it is due, and anybody may claim it. A payment
    that is not a success is mirrored and asked about again; no delivery is opened.

    What a deadlock has undone is tried again. An answer that the database refuses is recorded
    once more with what a column of any character set can hold: no payment is lost by a text.
    """
    using = primary_alias(Fulfilment)
    once = partial(
        _record,
        claim,
        key=key,
        page_claim=page_claim,
        door=door,
        actor=actor,
        claim_delivery=claim_delivery,
    )
    try:
        # After a rollback the mirror is read again, as it is then.
        return retry_transient(
            lambda number: once(resource, _mirrored(key) if number else existing),
            using=using,
        )
    except DatabaseError as error:
        if is_transient(error):
            raise
        # An IntegrityError: its verification was deleted by hand, the transaction was not.
        stored = resource if isinstance(error, IntegrityError) else resource.in_ascii()
    return retry_transient(lambda _number: once(stored, _mirrored(key)), using=using)


def _mirrored(key: str) -> Transaction | None:
    found = find_transaction(key)
    return found.transaction if found is not None else None


def _record(
    claim: Claim,
    resource: TransactionResource,
    existing: Transaction | None,
    *,
    key: str,
    page_claim: UUID | None,
    door: Door,
    actor: str,
    claim_delivery: bool,
) -> Recorded | None:
    """Write the answer down in one transaction, and send the signals after its commit."""
    before = existing.status if existing else ""
    settled = resource.status == "success" or before in {"success", "reversed"}
    with db_transaction.atomic(using=primary_alias(Fulfilment), durable=True):
        if not settle(claim, settled=settled, status=resource.status):
            return None
        attribution = attribution_of(existing, evidence_of(resource, key, page_claim))
        if attribution.by is Attributed.NONE:
            # The payer may have come back by a page's callback while we asked.
            attribution = attribute(
                evidence_of(resource, key, claimed_page(claim.pk)), conf.attribution
            )
        transaction = merge_answer(existing, resource, key=key, attribution=attribution)
        # Decided before it is saved: an accepted payment takes its expected payment's row by
        # UPDATE, and on MariaDB an INSERT that refers to the row first would let rivals deadlock.
        decision = decide_about(transaction, attribution)
        write(transaction)
        fulfilment = fulfilment_of(existing)
        opened = fulfilment is None
        if fulfilment is None:
            fulfilment = open_fulfilment(transaction, decision, claim=claim_delivery)
            changed = fulfilment is not None
        else:
            changed = not stands(fulfilment, decision) and revise(fulfilment, decision)
        news = decision if changed else None
        lines = lines_about(transaction, before, news, attempt=claim.attempt)
        append_to_timeline(key, *lines, door=door, actor=actor)
    logger.info(
        "payment.recorded: %s: %s, %s",
        transaction.reference,
        transaction.status,
        decision.verdict,
        extra={
            "reference": transaction.reference,
            "status": transaction.status,
            "verdict": str(decision.verdict),
            "reason": str(decision.reason),
            "attempt": claim.attempt,
            "door": str(door),
        },
    )
    announce(transaction, before, fulfilment if changed else None)
    is_claimed = claim_delivery and opened and changed and decision.verdict is Verdict.ACCEPT
    return Recorded(transaction, fulfilment if is_claimed else None)


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
      then came to nothing (docs/cases.md C14). What staff have approved is theirs to decide.
    """
    fulfilment = fulfilment_of(transaction)
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
        lines = lines_about(transaction, transaction.status, decision)
        append_to_timeline(transaction.reference_key, *lines, door=door)
        return True

    changed = retry_transient(once, using=primary_alias(Fulfilment))
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
            # All is undone: an ask under way may still be recorded, no expected payment is taken.
            db_transaction.set_rollback(True, using=primary_alias(Fulfilment))
            return None
        attach(transaction, attribution)
        detail = ": ".join(filter(None, (page.slug, note)))
        attributed = (EventKind.ATTRIBUTED, detail)
        lines = lines_about(transaction, transaction.status, decision)
        append_to_timeline(seen.reference_key, attributed, *lines, door=door, actor=actor)
    announce(transaction, transaction.status, fulfilment)
    return fulfilment


def _moved(fulfilment: Fulfilment, seen: Fulfilment) -> bool:
    return (fulfilment.state, fulfilment.reason, fulfilment.attempts) != (
        seen.state,
        seen.reason,
        seen.attempts,
    )
