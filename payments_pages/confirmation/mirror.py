"""Write the service's answer into our table. A status only moves forward."""

from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from payments_pages.client import TransactionResource
from payments_pages.confirmation.attribution import Attribution
from payments_pages.confirmation.statements import (
    INSERT_TRANSACTION,
    SETTLED_BY_KEY,
    TRANSACTION_BY_KEY,
    TRANSACTION_BY_TOKEN,
)
from payments_pages.db import refuse_held_row
from payments_pages.models import Fulfilment, Transaction, fulfilment_of, primary_alias

__all__ = [
    "Found",
    "attach",
    "find_by_token",
    "find_settled",
    "find_transaction",
    "may_follow",
    "merge_answer",
    "write",
]

_COPIED = (
    "domain",
    "status",
    "amount",
    "currency",
    "fees",
    "message",
    "gateway_response",
    "channel",
    "ip_address",
    "customer_email",
    "paid_at",
    "created_at",
    "metadata",
    "log",
    "authorization",
    "customer",
    "unreadable",
)


def find_by_token(token: UUID) -> Transaction | None:
    """Return the transaction that a result page's token stands for."""
    return TRANSACTION_BY_TOKEN.first(primary_alias(Transaction), token=token)


@dataclass(frozen=True, slots=True)
class Found:
    """A mirrored transaction with its delivery.

    `due`: by the database's clock, the delivery's `next_at` has come.
    """

    transaction: Transaction
    fulfilment: Fulfilment | None
    due: bool


def find_transaction(key: str) -> Found | None:
    """Return the mirrored transaction of a reference key with its delivery and page, or None."""
    transaction = TRANSACTION_BY_KEY.first(primary_alias(Transaction), key=key)
    if transaction is None:
        return None
    # The statement computes it; the model has no such field.
    due = bool(vars(transaction).pop("delivery_due"))
    return Found(transaction, fulfilment_of(transaction), due)


def find_settled(key: str) -> Transaction | None:
    """Return the mirrored transaction with its fulfilment's state, and no more of both.

    All other fields are read at once when one of them is asked for.
    """
    return SETTLED_BY_KEY.first(primary_alias(Transaction), key=key)


def merge_answer(
    existing: Transaction | None,
    resource: TransactionResource,
    *,
    key: str,
    attribution: Attribution,
) -> Transaction:
    """Put a verified answer into the mirror's row, new or existing, and return it unsaved.

    Only the winner of the verification's fence may save it, in the fence's transaction. An
    answer that would take a status backwards changes nothing but `verified_at`.
    """
    transaction = existing or Transaction(reference=resource.reference, reference_key=key)
    if existing is None or may_follow(existing.status, resource.status):
        for name in _COPIED:
            setattr(transaction, name, getattr(resource, name))
        transaction.remote_id = resource.id
    _set_attribution(transaction, attribution)
    transaction.verified_at = timezone.now()
    return transaction


def write(transaction: Transaction) -> None:
    """Insert or update the mirror's row, in the transaction of the fence that was won."""
    if transaction._state.adding:  # noqa: SLF001 - Django documents it
        INSERT_TRANSACTION.run(primary_alias(Transaction), transaction)
    else:
        # A handler that is at work in it may hold this row, too: by a foreign key on MariaDB.
        refuse_held_row(Transaction.objects.primary(), transaction.pk)
        transaction.save()


def attach(transaction: Transaction, attribution: Attribution) -> None:
    """Write what an already mirrored transaction pays for."""
    _set_attribution(transaction, attribution)
    transaction.save(update_fields=["page", "expected_payment", "attributed_by"])


def _set_attribution(transaction: Transaction, attribution: Attribution) -> None:
    transaction.page = attribution.page
    transaction.expected_payment = attribution.expected
    transaction.attributed_by = attribution.by


def may_follow(old: str, new: str) -> bool:
    """Say whether a status may replace another: only `reversed` replaces `success`, for good.

    A late or slow answer must not un-pay a payment, nor a late success notice un-reverse it
    (docs/cases.md C14).
    """
    if old == "success":
        return new in {"success", "reversed"}
    return not (old == "reversed" and new != "reversed")
