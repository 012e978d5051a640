"""Say what is true about a reference, by the database alone."""

from dataclasses import dataclass, field

from payments_pages.choices import FulfilmentState, Outcome, VerificationState
from payments_pages.confirmation import inbox
from payments_pages.confirmation.policy import FINAL_FAILURES
from payments_pages.models import Fulfilment, Transaction, Verification

__all__ = [
    "Confirmation",
    "describe",
    "is_contradicted",
    "outcome_of",
    "outcome_without_fulfilment",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What is true about a reference now. It holds a payer's data only through its rows.

    `transaction` and `fulfilment` are None where there are none yet. `retry_after` is in
    seconds, for outcomes that may change by themselves; None for the others. `contradicted`: a
    signed message says that it is paid, and the service does not confirm that yet. `answered` is
    the status that the service gave to this very call, or "" when it was not asked or gave none.
    """

    outcome: Outcome
    reference: str
    transaction: Transaction | None = field(default=None, repr=False)
    fulfilment: Fulfilment | None = field(default=None, repr=False)
    retry_after: int | None = None
    contradicted: bool = False
    answered: str = ""


def describe(transaction: Transaction) -> Confirmation:
    """Return what is true about a mirrored transaction, by the database alone."""
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is not None:
        outcome, contradicted = outcome_of(fulfilment), False
    else:
        row = inbox.find(transaction.reference_key)
        contradicted = is_contradicted(row, transaction)
        outcome = outcome_without_fulfilment(row, transaction)
    return Confirmation(
        outcome=outcome,
        reference=transaction.reference,
        transaction=transaction,
        fulfilment=fulfilment,
        contradicted=contradicted,
    )


def is_contradicted(row: Verification | None, transaction: Transaction | None) -> bool:
    """Say whether a signed success stands that the service's own answer does not confirm.

    A reversed payment was a success once, so that it confirms the message.
    """
    if row is None or row.signed_success_at is None:
        return False
    return transaction is None or transaction.status not in {"success", "reversed"}


def outcome_without_fulfilment(
    row: Verification | None, transaction: Transaction | None
) -> Outcome:
    """Name what is true of a reference for which no delivery was opened.

    Nobody is told "not paid" or "unknown" against a signed success: it is pending.
    """
    if is_contradicted(row, transaction):
        return Outcome.PENDING
    if transaction is not None:
        failed = transaction.status in FINAL_FAILURES
        return Outcome.NOT_PAID if failed else Outcome.PENDING
    if row is not None and row.state == VerificationState.UNKNOWN:
        return Outcome.UNKNOWN
    if row is not None and row.state == VerificationState.VERIFYING:
        return Outcome.PENDING
    return Outcome.UNAVAILABLE


_OUTCOMES = {
    FulfilmentState.PENDING: Outcome.DELIVERING,
    FulfilmentState.DELIVERING: Outcome.DELIVERING,
    FulfilmentState.DELIVERED: Outcome.ALREADY_DELIVERED,
    FulfilmentState.FAILED: Outcome.DELIVERY_FAILED,
    FulfilmentState.HELD: Outcome.HELD,
    FulfilmentState.REJECTED: Outcome.REJECTED,
}


def outcome_of(fulfilment: Fulfilment) -> Outcome:
    """Name what a fulfilment's state means to who asks now."""
    return _OUTCOMES[FulfilmentState(fulfilment.state)]
