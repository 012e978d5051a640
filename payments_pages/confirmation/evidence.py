"""The evidence of what a payment is for, read from its rows, and the decision by it."""

from dataclasses import replace
from uuid import UUID

from payments_pages.choices import Attributed, FulfilmentState, Reason, Verdict
from payments_pages.client import TransactionResource, read_metadata
from payments_pages.conf import conf
from payments_pages.confirmation.attribution import (
    Attribution,
    Evidence,
    attribute,
    expectation_of,
    facts_of,
)
from payments_pages.confirmation.policy import POLICY_REASONS, Decision, decide
from payments_pages.db import refuse_held_row
from payments_pages.models import (
    ExpectedPayment,
    Fulfilment,
    Transaction,
    fulfilment_of,
)

__all__ = ["attribution_of", "decide_about", "decision_on", "evidence_of"]


def evidence_of(
    source: TransactionResource | Transaction, key: str, page_hint: UUID | None
) -> Evidence:
    """Return the evidence of what a payment is for: its own data, and its payer's page hint."""
    return Evidence(
        reference=source.reference,
        reference_key=key,
        amount=source.amount,
        currency=source.currency,
        metadata=read_metadata(source.metadata),
        page_hint=page_hint,
    )


def attribution_of(existing: Transaction | None, evidence: Evidence) -> Attribution:
    """Return what the payment is for: the stored attribution if there is one.

    A later answer does not change a stored attribution, and does not end a conflict of two
    sources; staff do, by naming a page (our decision). But the page hint may have been replaced by
    a better one (`attribution.replaceable_hints`). If the policy still holds the payment:

    - An attribution by the old page hint is replaced by one by the new page hint.
    - A conflict ends if the new page hint is the page that the other source names.
    """
    if existing is None or existing.attributed_by == Attributed.NONE:
        return attribute(evidence, conf.attribution)
    fulfilment = fulfilment_of(existing)
    known = Attribution(
        by=Attributed(existing.attributed_by),
        page=existing.page,
        expected=existing.expected_payment,
        conflict=fulfilment is not None and fulfilment.reason == Reason.ATTRIBUTION_CONFLICT,
    )
    if fulfilment is not None and not _is_held_by_policy(fulfilment):
        return known
    if known.page is None or evidence.page_hint is None:
        return known
    agreed = known.page.token == evidence.page_hint
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
    """Return the policy's decision about a mirrored transaction; write nothing."""
    expectation = expectation_of(attribution, transaction.reference_key)
    return decide(facts_of(transaction), expectation, conf.mode)


def decide_about(transaction: Transaction, attribution: Attribution) -> Decision:
    """Return the policy's decision, and mark the expected payment as paid if it is accepted.

    The mark is a conditional UPDATE: if two references pay for it at the same moment, one is
    accepted and the other is held as a duplicate (docs/cases.md C61). Raise `HeldRowError` if
    another transaction has locked the expected payment: that of a second reference, whose handler
    may be running.
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
    rows = ExpectedPayment.objects.primary()
    refuse_held_row(rows, expected.pk)
    return bool(rows.filter(pk=expected.pk, paid_by_key__in=["", key]).update(paid_by_key=key))
