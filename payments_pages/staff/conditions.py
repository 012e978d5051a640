"""The conditions of the decisions of staff: which of them a payment's state allows.

Which person may take them is a matter of permissions, in the admin.
"""

from payments_pages.choices import Attributed, FulfilmentState, Reason, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation import POLICY_REASONS
from payments_pages.models import Fulfilment, Transaction, Verification
from payments_pages.references import text_key

__all__ = [
    "ATTRIBUTABLE",
    "STOPPABLE",
    "is_of_other_mode",
    "may_approve",
    "may_attribute",
    "may_mark_seen",
    "may_reject",
    "may_reopen",
    "may_retry",
    "may_stop_asking",
]

ATTRIBUTABLE = frozenset(
    {
        Reason.UNATTRIBUTED,
        Reason.ATTRIBUTION_CONFLICT,
        Reason.PAGE_NOT_ON_SALE,
        Reason.OTHER_SITE,
        Reason.AMOUNT_MISMATCH,
        Reason.CURRENCY_MISMATCH,
        Reason.DUPLICATE_PAYMENT,
    }
)
"""Reasons of holds that naming another page can end."""


STOPPABLE = (VerificationState.DUE, VerificationState.UNKNOWN)
"""States in which the service will be asked again, and is not being asked now."""


def is_of_other_mode(fulfilment: Fulfilment) -> bool:
    """Say whether the row was created under the other `MODE`; False while the mode is not known.

    The reference key includes the mode: verifying it now would create a second row. So it waits
    until `MODE` is switched back, or until staff reject it. Needs `fulfilment.transaction`.
    """
    mode = conf.mode_or_blank
    return bool(mode) and fulfilment.reference_key != text_key(
        mode, fulfilment.transaction.reference
    )


def may_retry(transaction: Transaction) -> bool:
    """Say whether a delivery can be tried again: it failed, for now or too often."""
    row = _fulfilment_of(transaction)
    if row is None or is_of_other_mode(row):
        return False
    if row.state == FulfilmentState.HELD:
        return row.reason not in POLICY_REASONS
    return row.state in FulfilmentState.waiting()


def may_approve(transaction: Transaction) -> bool:
    """Say whether staff may accept it against the policy.

    Never if it was reversed, and never if the payment's mode (`domain`) is another than that of its
    row, whatever the reason of the hold: the reference key includes the mode, so after `MODE` is
    corrected the same payment gets a second row and would be delivered twice. Staff reject such a
    hold. If the service does not say the mode, staff may: the key that it was asked with belongs to
    the mode of the row (docs/cases.md S14).
    """
    row = _fulfilment_of(transaction)
    return (
        row is not None
        and row.state == FulfilmentState.HELD
        and row.reason in POLICY_REASONS
        and transaction.status == "success"
        and (
            not transaction.domain
            or row.reference_key == text_key(transaction.domain, transaction.reference)
        )
        and not is_of_other_mode(row)
    )


def may_reject(transaction: Transaction) -> bool:
    """Say whether it can be refused: it is held, or was never delivered."""
    row = _fulfilment_of(transaction)
    return row is not None and (
        row.state == FulfilmentState.HELD or row.state in FulfilmentState.waiting()
    )


def may_reopen(transaction: Transaction) -> bool:
    """Say whether a rejection can be taken back: the payment is still a success.

    Nothing was delivered: a delivery that was made cannot be rejected.
    """
    row = _fulfilment_of(transaction)
    return (
        row is not None
        and row.state == FulfilmentState.REJECTED
        and transaction.status == "success"
        and not is_of_other_mode(row)
    )


def may_attribute(transaction: Transaction) -> bool:
    """Say whether naming a page can help: the payment has none, or does not fit the one it has.

    Not if the merchant's own code expected this reference (our decision): staff approve or reject
    such a payment.
    """
    row = _fulfilment_of(transaction)
    return (
        row is not None
        and row.state == FulfilmentState.HELD
        and row.reason in ATTRIBUTABLE
        and transaction.attributed_by != Attributed.EXPECTED
        and not is_of_other_mode(row)
    )


def may_mark_seen(transaction: Transaction) -> bool:
    """Say whether there is a reversal, refund or dispute, of something delivered, to be seen."""
    row = _fulfilment_of(transaction)
    return row is not None and row.state == FulfilmentState.DELIVERED and row.money_back_unseen


def may_stop_asking(row: Verification) -> bool:
    """Say whether the questions about a reference can be ended: they go on, and none is running."""
    return row.state in STOPPABLE


def _fulfilment_of(transaction: Transaction) -> Fulfilment | None:
    row: Fulfilment | None = getattr(transaction, "fulfilment", None)
    return row
