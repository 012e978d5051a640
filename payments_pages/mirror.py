"""Write the service's answer into our table. A status only moves forward."""

from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.utils import timezone

from payments_pages.attribution import Attribution
from payments_pages.databases import UtcNow
from payments_pages.models import Transaction
from payments_pages.resources import TransactionResource

__all__ = ["attach", "find_by_token", "find_transaction", "may_follow", "merge_answer"]

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
    return (
        Transaction.objects.primary()
        .filter(token=token)
        .select_related("fulfilment", "page")
        .first()
    )


def find_transaction(key: str) -> Transaction | None:
    """Return the mirrored transaction of a reference key, with all that hangs on it.

    `delivery_due` says, by the database's clock, whether its fulfilment's time has come.
    """
    return (
        Transaction.objects.primary()
        .filter(reference_key=key)
        .select_related("fulfilment", "page", "expected_payment")
        .annotate(
            delivery_due=ExpressionWrapper(
                Q(fulfilment__next_at__lte=UtcNow()), output_field=BooleanField()
            )
        )
        .first()
    )


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
    (case C14).
    """
    if old == "success":
        return new in {"success", "reversed"}
    return not (old == "reversed" and new != "reversed")
