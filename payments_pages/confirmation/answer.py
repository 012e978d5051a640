"""Answer about a reference from the database, and see to a delivery that is open there."""

from dataclasses import replace

from payments_pages.choices import FulfilmentState, Outcome, VerificationState
from payments_pages.confirmation import inbox
from payments_pages.confirmation.delivery import deliver_here
from payments_pages.confirmation.mirror import Found, find_settled, find_transaction
from payments_pages.confirmation.nudging import hand_on
from payments_pages.confirmation.outcomes import (
    COME_BACK,
    Confirmation,
    describe,
    describe_delivery,
    describe_undelivered,
    unavailable,
)
from payments_pages.confirmation.recording import reconsider
from payments_pages.confirmation.run import Run
from payments_pages.exceptions import NotFound, ServiceError
from payments_pages.models import Verification, fulfilment_of

__all__ = ["answer", "answer_final", "answer_without_service", "is_settled"]

_FINAL = frozenset({FulfilmentState.DELIVERED, FulfilmentState.REJECTED})


def answer_final(row: Verification) -> Confirmation | None:
    """Answer, by one small query, what no payer and no ask can change any more; else None."""
    if row.state != VerificationState.SETTLED:
        return None
    transaction = find_settled(row.reference_key)
    fulfilment = fulfilment_of(transaction)
    if transaction is None or fulfilment is None or fulfilment.state not in _FINAL:
        return None
    return describe(transaction)


def is_settled(row: Verification, known: Found | None) -> bool:
    """Say whether the database can answer by itself: what is settled makes no call."""
    if row.state == VerificationState.SETTLED:
        return True
    fulfilment = known.fulfilment if known is not None else None
    return fulfilment is not None and fulfilment.state in _FINAL


def answer(run: Run, row: Verification, known: Found | None) -> Confirmation:
    """Answer, after delivering what is open and nobody holds; without `deliver_now` it is handed on.

    `known` is the transaction as the caller has read it since `row`.
    """
    current = None
    if known is None:
        # The row first: one transaction settles it and writes the mirror.
        current, known = inbox.find(run.key), find_transaction(run.key)
    if known is not None:
        reconsider(known.transaction, page_claim=row.page_claim, door=run.door)
    if known is None or known.fulfilment is None:
        # Read anew: a signed message may have come while we, or a rival, asked.
        current = current or inbox.find(run.key)
        return describe_undelivered(run.reference, current, known.transaction if known else None)
    give = deliver_here if run.deliver_now else hand_on
    outcome = give(known.fulfilment, due=known.due, door=run.door)
    return describe_delivery(known.fulfilment, outcome)


def answer_without_service(run: Run, error: ServiceError | None) -> Confirmation:
    """Answer when the service gave no answer to go by: what is known already still counts."""
    if error is None:
        return unavailable(run.reference)
    # Read anew: a signed message may have come meanwhile.
    current, known = inbox.find(run.key), find_transaction(run.key)
    if current is not None and known is not None and known.fulfilment is not None:
        return answer(run, current, known)
    transaction = known.transaction if known is not None else None
    found = describe_undelivered(run.reference, current, transaction)
    outcome = Outcome.UNAVAILABLE
    if known is None and isinstance(error, NotFound):
        outcome = Outcome.PENDING if found.contradicted else Outcome.UNKNOWN
    return replace(found, outcome=outcome, retry_after=error.retry_after or COME_BACK)
