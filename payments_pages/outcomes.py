"""Say what is true about a reference, by the database alone."""

from dataclasses import dataclass, field

from payments_pages.choices import Outcome, VerificationState
from payments_pages.fulfilment import outcome_of
from payments_pages.models import Fulfilment, Transaction, Verification
from payments_pages.policy import FINAL_FAILURES

__all__ = ["Confirmation", "describe", "outcome_without_fulfilment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Tell what is true about a reference now. Holds no payer's data but through its rows.

    `transaction` and `fulfilment` are None where there are none yet. `retry_after` is in
    seconds, for outcomes that may change by themselves; None for the others. `answered` is the
    status that the service gave to this very call, or "" when it was not asked or gave no answer.
    """

    outcome: Outcome
    reference: str
    transaction: Transaction | None = field(default=None, repr=False)
    fulfilment: Fulfilment | None = field(default=None, repr=False)
    retry_after: int | None = None
    answered: str = ""


def describe(transaction: Transaction) -> Confirmation:
    """Tell what is true about a mirrored transaction, by the database alone."""
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    outcome = outcome_of(fulfilment) if fulfilment else _unopened(transaction)
    return Confirmation(
        outcome=outcome,
        reference=transaction.reference,
        transaction=transaction,
        fulfilment=fulfilment,
    )


def outcome_without_fulfilment(row: Verification, transaction: Transaction | None) -> Outcome:
    """Name what is true of a reference for which no delivery was opened."""
    if transaction is not None:
        return _unopened(transaction)
    if row.state == VerificationState.UNKNOWN:
        return Outcome.UNKNOWN
    if row.state == VerificationState.VERIFYING:
        return Outcome.PENDING
    return Outcome.UNAVAILABLE


def _unopened(transaction: Transaction) -> Outcome:
    failed = transaction.status in FINAL_FAILURES
    return Outcome.NOT_PAID if failed else Outcome.PENDING
