"""What is true about a reference, by the database alone."""

from dataclasses import dataclass, field

from payments_pages.choices import Door, FulfilmentState, Outcome, VerificationState
from payments_pages.confirmation import inbox
from payments_pages.confirmation.policy import FINAL_FAILURES
from payments_pages.models import Fulfilment, Transaction, Verification, fulfilment_of

__all__ = [
    "COME_BACK",
    "Confirmation",
    "describe",
    "describe_delivery",
    "describe_undelivered",
    "error_facts",
    "is_contradicted",
    "outcome_of",
    "unavailable",
]

COME_BACK = 5
"""Seconds after which asking again may tell more, when the service did not say."""

_OUTCOMES = {
    FulfilmentState.PENDING: Outcome.DELIVERING,
    FulfilmentState.DELIVERING: Outcome.DELIVERING,
    FulfilmentState.DELIVERED: Outcome.ALREADY_DELIVERED,
    FulfilmentState.FAILED: Outcome.DELIVERY_FAILED,
    FulfilmentState.HELD: Outcome.HELD,
    FulfilmentState.REJECTED: Outcome.REJECTED,
}
_CHANGES_SOON = frozenset({Outcome.DELIVERING, Outcome.DELIVERY_FAILED})


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
    """Return what is true about a mirrored transaction."""
    fulfilment = fulfilment_of(transaction)
    if fulfilment is not None:
        return describe_delivery(fulfilment, outcome_of(fulfilment))
    row = inbox.find(transaction.reference_key)
    return describe_undelivered(transaction.reference, row, transaction)


def describe_delivery(
    fulfilment: Fulfilment, outcome: Outcome, *, answered: str = ""
) -> Confirmation:
    """Return what is true about a reference whose delivery was opened."""
    return Confirmation(
        outcome=outcome,
        reference=fulfilment.transaction.reference,
        transaction=fulfilment.transaction,
        fulfilment=fulfilment,
        retry_after=COME_BACK if outcome in _CHANGES_SOON else None,
        answered=answered,
    )


def describe_undelivered(
    reference: str, row: Verification | None, transaction: Transaction | None
) -> Confirmation:
    """Return what is true about a reference for which no delivery was opened.

    Against a signed success nobody is told "not paid" or "unknown": it is pending.
    """
    contradicted = is_contradicted(row, transaction)
    if contradicted:
        outcome = Outcome.PENDING
    elif transaction is not None:
        failed = transaction.status in FINAL_FAILURES
        outcome = Outcome.NOT_PAID if failed else Outcome.PENDING
    elif row is not None and row.state == VerificationState.UNKNOWN:
        outcome = Outcome.UNKNOWN
    elif row is not None and row.state == VerificationState.VERIFYING:
        outcome = Outcome.PENDING
    else:
        outcome = Outcome.UNAVAILABLE
    return Confirmation(
        outcome=outcome,
        reference=reference,
        transaction=transaction,
        retry_after=None if outcome is Outcome.NOT_PAID else COME_BACK,
        contradicted=contradicted,
    )


def unavailable(reference: str, *, retry_after: int = COME_BACK) -> Confirmation:
    """Return that a reference cannot be confirmed right now."""
    return Confirmation(outcome=Outcome.UNAVAILABLE, reference=reference, retry_after=retry_after)


def is_contradicted(row: Verification | None, transaction: Transaction | None) -> bool:
    """Say whether a signed success stands that the service's own answer does not confirm.

    A reversed payment was a success once, so that it confirms the message.
    """
    if row is None or row.signed_success_at is None:
        return False
    return transaction is None or transaction.status not in {"success", "reversed"}


def outcome_of(fulfilment: Fulfilment) -> Outcome:
    """Return the outcome that a fulfilment's state stands for."""
    return _OUTCOMES[FulfilmentState(fulfilment.state)]


def error_facts(reference: str, door: Door, error: Exception) -> dict[str, str]:
    """Return what a log record says about a confirmation that an error has cut short."""
    return {"reference": reference, "error": type(error).__name__, "door": str(door)}
