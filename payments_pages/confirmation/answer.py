"""Answer from the database about a reference, and make or hand on its delivery if that is open."""

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


def answer_final(row: Verification) -> Confirmation | None:
    """Return the answer if the delivery is in a final state, by one small query; otherwise None."""
    if row.state != VerificationState.SETTLED:
        return None
    transaction = find_settled(row.reference_key)
    fulfilment = fulfilment_of(transaction)
    if transaction is None or fulfilment is None or fulfilment.state not in FulfilmentState.final():
        return None
    return describe(transaction)


def is_settled(row: Verification, known: Found | None) -> bool:
    """Say whether the database can answer, so that the service is not called.

    It can if the verification is settled, or the delivery is in a final state.
    """
    if row.state == VerificationState.SETTLED:
        return True
    fulfilment = known.fulfilment if known is not None else None
    return fulfilment is not None and fulfilment.state in FulfilmentState.final()


def answer(run: Run, row: Verification, known: Found | None) -> Confirmation:
    """Answer from the database; first deliver what is open, or hand it on without `deliver_now`.

    `known` is the transaction if the caller has read it after `row`. If it is None, both are read
    here.
    """
    current = None
    if known is None:
        # The row is read first. One transaction settles it and writes the mirror: if it is settled
        # here, the mirror is there, too.
        current, known = inbox.find(run.key), find_transaction(run.key)
    if known is not None:
        reconsider(known.transaction, page_hint=row.page_claim, door=run.door)
    if known is None or known.fulfilment is None:
        # Read again: a signed message may have come while this caller, or a rival, asked.
        current = current or inbox.find(run.key)
        return describe_undelivered(run.reference, current, known.transaction if known else None)
    give = deliver_here if run.deliver_now else hand_on
    outcome = give(known.fulfilment, due=known.due, door=run.door)
    return describe_delivery(known.fulfilment, outcome)


def answer_without_service(run: Run, error: ServiceError | None) -> Confirmation:
    """Answer from the database when the service gave no usable answer.

    A delivery that is already open is made. `error` is None if an answer came and could not be
    recorded.
    """
    if error is None:
        return unavailable(run.reference)
    # Read again: a signed message may have come in the meantime.
    current, known = inbox.find(run.key), find_transaction(run.key)
    if current is not None and known is not None and known.fulfilment is not None:
        return answer(run, current, known)
    transaction = known.transaction if known is not None else None
    found = describe_undelivered(run.reference, current, transaction)
    outcome = Outcome.UNAVAILABLE
    if known is None and isinstance(error, NotFound):
        outcome = Outcome.PENDING if found.contradicted else Outcome.UNKNOWN
    return replace(found, outcome=outcome, retry_after=error.retry_after or COME_BACK)
