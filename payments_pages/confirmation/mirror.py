"""Write the service's answer into our tables. A status only moves forward."""

import datetime as dt
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils import timezone

from payments_pages.client import TransactionResource, payer_terms
from payments_pages.confirmation.attribution import Attribution
from payments_pages.confirmation.statements import (
    INSERT_TRANSACTION,
    SETTLED_BY_KEY,
    TRANSACTION_BY_KEY,
    TRANSACTION_BY_TOKEN,
)
from payments_pages.db import refuse_held_row
from payments_pages.models import Fulfilment, LateChange, Transaction, fulfilment_of, primary_alias

__all__ = [
    "LATE",
    "Found",
    "attach",
    "counted",
    "find_by_token",
    "find_settled",
    "find_transaction",
    "may_follow",
    "merge_answer",
    "write",
]

LATE: Final = dt.timedelta(hours=12)
"""The age from which a payment's change is noted for the kept sums of its day (`LateChange`).

Sums are kept of days that are over since `staff.KEPT_AFTER`. The difference is what a web server's
clock may be behind the database's."""

Counted = tuple[str, dt.datetime | None, str, int | None, str]
"""Mode, time, currency, amount and status of a payment."""

# The fields that have the same name in the resource and in the model.
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
    """Return the transaction with this token of a result page, or None."""
    return TRANSACTION_BY_TOKEN.first(primary_alias(Transaction), token=token)


@dataclass(frozen=True, slots=True)
class Found:
    """A mirrored transaction with its delivery.

    `due` says that the delivery's `next_at` has passed, by the database's clock.
    """

    transaction: Transaction
    fulfilment: Fulfilment | None
    due: bool


def find_transaction(key: str) -> Found | None:
    """Return the mirrored transaction of a reference key with its delivery and page, or None."""
    transaction = TRANSACTION_BY_KEY.first(primary_alias(Transaction), key=key)
    if transaction is None:
        return None
    # The statement computes it. It is not a field of the model.
    due = bool(vars(transaction).pop("delivery_due"))
    return Found(transaction, fulfilment_of(transaction), due)


def find_settled(key: str) -> Transaction | None:
    """Return the mirrored transaction of a reference key, with few fields, or None.

    It has its reference, key, token, status and its fulfilment's state. When another field is read,
    all other fields are loaded by one query.
    """
    return SETTLED_BY_KEY.first(primary_alias(Transaction), key=key)


def merge_answer(
    existing: Transaction | None,
    resource: TransactionResource,
    *,
    key: str,
    attribution: Attribution,
) -> Transaction:
    """Copy a verified answer into the mirror's row, new or existing, and return it unsaved.

    Only the caller whose claim was still valid may save it, in the transaction that checked this
    (`verification.settle`). An answer whose status may not follow the stored one changes only
    `verified_at` and the attribution.
    """
    transaction = existing or Transaction(reference=resource.reference, reference_key=key)
    if existing is None or may_follow(existing.status, resource.status):
        for name in _COPIED:
            setattr(transaction, name, getattr(resource, name))
        for name, text in payer_terms(resource.customer, resource.authorization).items():
            setattr(transaction, name, text)
        transaction.remote_id = resource.id
    _set_attribution(transaction, attribution)
    transaction.verified_at = timezone.now()
    return transaction


def write(transaction: Transaction, *, before: Counted | None) -> None:
    """Insert or update the mirror's row, in the transaction that has checked the claim.

    `before` is what `counted` said of the row as it was stored; None for a new one. Whatever writes
    a column that the totals depend on must do as this function does: note in the same transaction
    that the sums kept of an old day are no longer right.
    """
    if transaction._state.adding:  # noqa: SLF001 - Django documents it
        INSERT_TRANSACTION.run(primary_alias(Transaction), transaction)
    else:
        # A handler that is running may have locked this row, too: on MariaDB a foreign key does so.
        refuse_held_row(Transaction.objects.primary(), transaction.pk)
        transaction.save()
    # None for a payment just made: rivals write no row that they share, and no statement more.
    if late := _late_changes(before, counted(transaction)):
        LateChange.objects.primary().bulk_create(late)


def counted(transaction: Transaction) -> Counted:
    """Return all that the totals of a day depend on.

    With the status as it is, not whether it is "success": MariaDB does not compare as Python does.
    """
    return (
        transaction.domain,
        transaction.paid_at,
        transaction.currency,
        transaction.amount,
        transaction.status,
    )


def _late_changes(before: Counted | None, after: Counted) -> list[LateChange]:
    """Return what to note for the kept sums: the old and the new time of an old payment."""
    if before == after:
        return []
    late_before = timezone.now() - LATE
    places = {
        (domain, paid_at)
        for domain, paid_at, *_rest in filter(None, (before, after))
        if paid_at is not None and paid_at < late_before
    }
    return [LateChange(domain=domain, paid_at=paid_at) for domain, paid_at in sorted(places)]


def attach(transaction: Transaction, attribution: Attribution) -> None:
    """Save what an already mirrored transaction pays for."""
    _set_attribution(transaction, attribution)
    transaction.save(update_fields=["page", "expected_payment", "attributed_by"])


def _set_attribution(transaction: Transaction, attribution: Attribution) -> None:
    transaction.page = attribution.page
    transaction.expected_payment = attribution.expected
    transaction.attributed_by = attribution.by


def may_follow(old: str, new: str) -> bool:
    """Say whether the status `new` may replace the status `old`.

    Only `reversed` replaces `success`, and nothing replaces `reversed`: an older answer may arrive
    late (docs/cases.md C14).
    """
    if old == "success":
        return new in {"success", "reversed"}
    return not (old == "reversed" and new != "reversed")
