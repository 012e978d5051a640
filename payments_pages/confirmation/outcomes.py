"""The answer about a reference, as the database has it."""

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
"""Seconds after which a caller may ask again, if the service did not name a time."""

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
    """What is true about a reference now. Only its rows contain a payer's data.

    - `transaction` and `fulfilment` are None if there is no such row yet.
    - `retry_after`: the seconds after which a caller may ask again, for an outcome that may change
      without staff; None for the others.
    - `contradicted`: a signed message says that it is paid, and the service does not confirm this
      yet.
    - `answered`: the status that the service gave in this call; "" if it was not asked, or gave no
      usable answer.
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
    """Return what is true about a reference that has a fulfilment."""
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
    """Return what is true about a reference that has no fulfilment.

    If a signed message says that it is paid, the outcome is `PENDING`, not `NOT_PAID` or `UNKNOWN`.
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
        # Also while the first delivery runs: nobody else can see yet that it is paid.
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
    """Say whether a signed message reported a success that the service has not confirmed.

    The status `reversed` confirms it, too, because the payment was a success before.
    """
    if row is None or row.signed_success_at is None:
        return False
    return transaction is None or transaction.status not in {"success", "reversed"}


def outcome_of(fulfilment: Fulfilment) -> Outcome:
    """Return the outcome that corresponds to a fulfilment's state."""
    return _OUTCOMES[FulfilmentState(fulfilment.state)]


def error_facts(reference: str, door: Door, error: Exception) -> dict[str, str]:
    """Return the fields of a log record about a confirmation that an error has ended."""
    return {"reference": reference, "error": type(error).__name__, "door": str(door)}
