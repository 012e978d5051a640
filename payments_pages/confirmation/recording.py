"""Record an answer of the service: attribute, mirror, decide and open, in one short transaction.

The first statement sets the verification's state by its fence; only the winner writes the rest.
No network call is made in here.
"""

import logging
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from django.db import DatabaseError, IntegrityError
from django.db import transaction as db_transaction

from payments_pages.choices import Attributed, Door, EventKind, FulfilmentState, Reason, Verdict
from payments_pages.client.resources import TransactionResource, read_metadata
from payments_pages.conf import conf
from payments_pages.confirmation.attribution import (
    Attribution,
    Evidence,
    attribute,
    expectation_of,
    facts_of,
)
from payments_pages.confirmation.fulfilment import is_quiet, open_fulfilment, revise, stands
from payments_pages.confirmation.inbox import claimed_page
from payments_pages.confirmation.mirror import find_transaction, merge_answer, write
from payments_pages.confirmation.policy import POLICY_REASONS, Decision, decide
from payments_pages.confirmation.statements import INSERT_EVENT
from payments_pages.confirmation.verification import Claim, settle
from payments_pages.db.transient import is_transient, tried_again
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    Transaction,
    primary_alias,
)
from payments_pages.signals import fulfilment_held, transaction_changed, transaction_confirmed

__all__ = [
    "Recorded",
    "announce",
    "append",
    "attribution_of",
    "decide_about",
    "decision_on",
    "evidence_of",
    "note_decision",
    "record",
]

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
    and asked about again; it opens no delivery.

    What a deadlock has undone is tried again. An answer that the database refuses is recorded
    once more with what a column of any character set can hold: no payment is lost by a text.
    """
    using = primary_alias(Fulfilment)
    once = partial(
        _record, held, key=key, page_claim=page_claim, door=door, actor=actor, claim=claim
    )
    try:
        # After a rollback the mirror is read again, as it is then.
        return tried_again(
            lambda number: once(resource, find_transaction(key) if number else existing),
            using=using,
        )
    except DatabaseError as error:
        if is_transient(error):
            raise
        # An IntegrityError: its verification was deleted by hand, the transaction was not.
        stored = resource if isinstance(error, IntegrityError) else resource.in_ascii()
    return tried_again(lambda _number: once(stored, find_transaction(key)), using=using)


def _record(
    held: Claim,
    resource: TransactionResource,
    existing: Transaction | None,
    *,
    key: str,
    page_claim: UUID | None,
    door: Door,
    actor: str,
    claim: bool,
) -> Recorded | None:
    """Write the answer down in one transaction, and send the signals after its commit."""
    before = existing.status if existing else ""
    settled = resource.status == "success" or before in {"success", "reversed"}
    with db_transaction.atomic(using=primary_alias(Fulfilment), durable=True):
        if not settle(held, settled=settled, status=resource.status):
            return None
        attribution = attribution_of(existing, evidence_of(resource, key, page_claim))
        if attribution.by is Attributed.NONE:
            # The payer may have come back by a page's callback while we asked.
            attribution = attribute(
                evidence_of(resource, key, claimed_page(held.pk)), conf.attribution
            )
        transaction = merge_answer(existing, resource, key=key, attribution=attribution)
        # Decided before it is saved: an accepted payment takes its expected payment's row by
        # UPDATE, and on MariaDB an INSERT that refers to the row first would let rivals deadlock.
        decision = decide_about(transaction, attribution)
        write(transaction)
        fulfilment: Fulfilment | None = getattr(existing, "fulfilment", None)
        opened = fulfilment is None
        if fulfilment is None:
            fulfilment = open_fulfilment(transaction, decision, claim=claim)
            changed = fulfilment is not None
        else:
            changed = not stands(fulfilment, decision) and revise(fulfilment, decision)
        note_decision(
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
    announce(transaction, before, fulfilment if changed else None)
    claimed = claim and opened and changed and decision.verdict is Verdict.ACCEPT
    return Recorded(transaction, fulfilment, claimed)


def evidence_of(
    source: TransactionResource | Transaction, key: str, page_claim: UUID | None
) -> Evidence:
    """Gather what may say what a payment is for: its own words, and the page its payer came by."""
    return Evidence(
        reference=source.reference,
        reference_key=key,
        amount=source.amount,
        currency=source.currency,
        metadata=read_metadata(source.metadata),
        page_claim=page_claim,
    )


def attribution_of(existing: Transaction | None, evidence: Evidence) -> Attribution:
    """Keep what is known; a later answer does not change what a payment was for.

    Nor does it end a conflict of two sources: staff do, by naming one (our decision). But a claim
    to a page may have given way to a better one (`attribution.giving_way`), and then:

    - What was attributed by the old claim follows the new one, as long as it is not accepted.
    - A conflict ends if the new claim names the very page that the other source names.
    """
    if existing is None or existing.attributed_by == Attributed.NONE:
        return attribute(evidence, conf.attribution)
    fulfilment: Fulfilment | None = getattr(existing, "fulfilment", None)
    known = Attribution(
        by=Attributed(existing.attributed_by),
        page=existing.page,
        expected=existing.expected_payment,
        conflict=fulfilment is not None and fulfilment.reason == Reason.ATTRIBUTION_CONFLICT,
    )
    if fulfilment is not None and not _is_held_by_policy(fulfilment):
        return known
    if known.page is None or evidence.page_claim is None:
        return known
    agreed = known.page.token == evidence.page_claim
    if agreed and known.conflict:
        now = attribute(evidence, conf.attribution)
        return known if now.conflict or now.page != known.page else now
    if not agreed and known.by is Attributed.CALLBACK:
        now = attribute(evidence, conf.attribution)
        return known if now.by is Attributed.NONE else now
    return known


def _is_held_by_policy(fulfilment: Fulfilment) -> bool:
    return fulfilment.state == FulfilmentState.HELD and fulfilment.reason in POLICY_REASONS


def decision_on(transaction: Transaction, attribution: Attribution) -> Decision:
    """Decide about the mirrored row; nothing is written."""
    expectation = expectation_of(attribution, transaction.reference_key)
    return decide(facts_of(transaction), expectation, conf.mode)


def decide_about(transaction: Transaction, attribution: Attribution) -> Decision:
    """Decide about the mirrored row, and take the expected payment if it is accepted.

    The expected payment is taken by compare-and-set: of two references that pay for it at the
    same moment one is accepted, the other held as a duplicate (case C61).
    """
    facts = facts_of(transaction)
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
