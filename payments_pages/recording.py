"""Record an answer of the service: attribute, mirror, decide and open, in one short transaction.

The first statement sets the verification's state by its fence; only the winner writes the rest.
No network call is made in here.
"""

import logging
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction as db_transaction

from payments_pages.attribution import Attribution, Evidence, attribute, expectation_of
from payments_pages.choices import Attributed, Door, EventKind, FulfilmentState, Reason, Verdict
from payments_pages.conf import conf
from payments_pages.databases import tried_again
from payments_pages.fulfilment import open_fulfilment, revise
from payments_pages.mirror import attach, merge_answer, write
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    primary_alias,
)
from payments_pages.policy import Decision, Facts, decide
from payments_pages.prepared import INSERT_EVENT
from payments_pages.resources import TransactionResource, read_metadata
from payments_pages.signals import fulfilment_held, transaction_changed, transaction_confirmed
from payments_pages.verification import Claim, claimed_page, fence_off, settle

__all__ = ["Recorded", "assign", "reconsider", "record"]

logger = logging.getLogger("payments_pages.recording")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Hand on what was written. `claimed`: the fulfilment is this caller's to deliver."""

    transaction: Transaction
    fulfilment: Fulfilment | None
    claimed: bool


def record(
    held: Claim,
    resource: TransactionResource,
    *,
    key: str,
    existing: Transaction | None,
    page_claim: UUID | None,
    door: Door,
    actor: str = "",
    claim: bool = True,
) -> Recorded | None:
    """Write a verified answer down; None when a later attempt has fenced this one off.

    `existing` is the mirror as it was when the claim was won. `claim`: a delivery that is opened
    is this caller's to make; else it is due for whoever claims it. What is not a success is mirrored
    and asked about again; it opens no delivery (case C16).
    """
    before = existing.status if existing else ""
    settled = resource.status == "success" or before in {"success", "reversed"}
    with db_transaction.atomic(using=primary_alias(Fulfilment), durable=True):
        if not settle(held, success=settled):
            return None
        attribution = _attribution(existing, _evidence(resource, key, page_claim))
        if attribution.by is Attributed.NONE and page_claim is None:
            # The payer may have come back by a page's callback while we asked.
            attribution = attribute(_evidence(resource, key, claimed_page(held)), conf.attribution)
        transaction = merge_answer(existing, resource, key=key, attribution=attribution)
        # Decided before it is saved: an accepted payment takes its expected payment's row by
        # UPDATE, and on MariaDB an INSERT that refers to the row first would let rivals deadlock.
        decision = _decide(transaction, attribution)
        write(transaction)
        fulfilment: Fulfilment | None = getattr(existing, "fulfilment", None)
        opened = fulfilment is None
        if fulfilment is None:
            fulfilment = open_fulfilment(transaction, decision, claim=claim)
            changed = fulfilment is not None
        else:
            changed = revise(fulfilment, decision)
        _note(
            transaction,
            before,
            decision if changed else None,
            door=door,
            actor=actor,
            attempt=held.attempt,
        )
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
            "attempt": held.attempt,
            "door": str(door),
        },
    )
    _announce(transaction, before, fulfilment if changed else None)
    claimed = claim and opened and changed and decision.verdict is Verdict.ACCEPT
    return Recorded(transaction, fulfilment, claimed)


def reconsider(transaction: Transaction, *, page_claim: UUID | None, door: Door) -> bool:
    """Decide again about a hold for want of attribution, now that there is a claim to a page.

    A webhook may come before the payer does: then nothing says what was paid for until the
    callback's claim arrives (our decision). True when the hold changed.
    """
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is None or fulfilment.state != FulfilmentState.HELD:
        return False
    if fulfilment.reason != Reason.UNATTRIBUTED:
        return False
    evidence = _evidence(transaction, transaction.reference_key, page_claim)
    attribution = attribute(evidence, conf.attribution)
    if attribution.by is Attributed.NONE:
        return False

    @db_transaction.atomic(using=primary_alias(Fulfilment), durable=True)
    def once(_number: int) -> bool:
        fulfilment.state, fulfilment.reason = FulfilmentState.HELD, Reason.UNATTRIBUTED
        decision = _decide(transaction, attribution)
        if not revise(fulfilment, decision):
            return False
        attach(transaction, attribution)
        _note(transaction, transaction.status, decision, door=door)
        return True

    changed = tried_again(once, using=primary_alias(Fulfilment))
    if changed:
        _announce(transaction, transaction.status, fulfilment)
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
        decision = _decide(transaction, attribution)
        if _moved(fulfilment, seen) or not revise(fulfilment, decision):
            # Nothing was said: whoever asks keeps the fence, an expected payment is not taken.
            db_transaction.set_rollback(True, using=primary_alias(Fulfilment))
            return None
        attach(transaction, attribution)
        detail = ": ".join(filter(None, (page.slug, note)))
        _append(transaction, [(EventKind.ATTRIBUTED, detail)], door=door, actor=actor)
        _note(transaction, transaction.status, decision, door=door, actor=actor)
    _announce(transaction, transaction.status, fulfilment)
    return fulfilment


def _moved(fulfilment: Fulfilment, seen: Fulfilment) -> bool:
    return (fulfilment.state, fulfilment.reason, fulfilment.attempts) != (
        seen.state,
        seen.reason,
        seen.attempts,
    )


def _evidence(
    source: TransactionResource | Transaction, key: str, page_claim: UUID | None
) -> Evidence:
    return Evidence(
        reference=source.reference,
        reference_key=key,
        amount=source.amount,
        currency=source.currency,
        metadata=read_metadata(source.metadata),
        page_claim=page_claim,
    )


def _attribution(existing: Transaction | None, evidence: Evidence) -> Attribution:
    """Keep what is known; a later answer does not change what a payment was for.

    Nor does it end a conflict of two sources: staff do, by naming one (our decision).
    """
    if existing is None or existing.attributed_by == Attributed.NONE:
        return attribute(evidence, conf.attribution)
    fulfilment: Fulfilment | None = getattr(existing, "fulfilment", None)
    return Attribution(
        by=Attributed(existing.attributed_by),
        page=existing.page,
        expected=existing.expected_payment,
        conflict=fulfilment is not None and fulfilment.reason == Reason.ATTRIBUTION_CONFLICT,
    )


def _decide(transaction: Transaction, attribution: Attribution) -> Decision:
    """Decide about the mirrored row, and take the expected payment if it is accepted.

    The expected payment is taken by compare-and-set: of two references that pay for it at the
    same moment one is accepted, the other held as a duplicate (case C61).
    """
    facts = Facts(
        status=transaction.status,
        domain=transaction.domain,
        amount=transaction.amount,
        currency=transaction.currency,
    )
    expectation = expectation_of(attribution, transaction.reference_key)
    decision = decide(facts, expectation, conf.mode)
    expected = attribution.expected
    if decision.verdict is not Verdict.ACCEPT or expected is None or expectation is None:
        return decision
    if _take(expected, transaction.reference_key):
        return decision
    return decide(facts, replace(expectation, paid_by_other=True), conf.mode)


def _take(expected: ExpectedPayment, key: str) -> bool:
    taken = (
        ExpectedPayment.objects.primary()
        .filter(pk=expected.pk, paid_by_key__in=["", key])
        .update(paid_by_key=key)
    )
    return bool(taken)


def _note(
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
    _append(transaction, lines, door=door, actor=actor)


def _append(
    transaction: Transaction, lines: list[tuple[EventKind, str]], *, door: Door, actor: str
) -> None:
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


def _announce(transaction: Transaction, before: str, changed: Fulfilment | None) -> None:
    """Send the signals, after the commit."""
    if transaction.status == "success" and before != "success":
        transaction_confirmed.send_robust(sender=Transaction, transaction=transaction)
    elif before and before != transaction.status:
        transaction_changed.send_robust(
            sender=Transaction, transaction=transaction, previous=before
        )
    if changed is not None and changed.state == FulfilmentState.HELD:
        fulfilment_held.send_robust(sender=Fulfilment, fulfilment=changed)
