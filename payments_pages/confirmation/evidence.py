"""What may say what a payment is for, gathered from its rows, and what is decided by it."""

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
from payments_pages.models import (
    ExpectedPayment,
    Fulfilment,
    Transaction,
    fulfilment_of,
)

__all__ = ["attribution_of", "decide_about", "decision_on", "evidence_of"]


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
    fulfilment = fulfilment_of(existing)
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
    same moment one is accepted, the other held as a duplicate (docs/cases.md C61).
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
