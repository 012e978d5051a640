"""The queue of held payments: which one is next, and how many are left."""

from dataclasses import dataclass

from django.db.models import QuerySet

from payments_pages.choices import FulfilmentState
from payments_pages.confirmation import POLICY_REASONS, loud_holds
from payments_pages.models import Fulfilment, Transaction
from payments_pages.staff import ATTENTION_CAP

__all__ = ["Rest", "given_up", "rest_of_queue", "waiting_for_decision"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What is left of the queue: the payment to open next, and the count in words, as `100+`."""

    next_pk: int
    left: str


def rest_of_queue(transaction: Transaction) -> Rest | None:
    """Return what is left beside a held payment; None if it is not held, or is the last one.

    There are two queues, as in the filter of the list (`HoldFilter`): payments that wait for a
    decision, and deliveries that were given up. The order is that of the list, the newest first;
    after the oldest comes the newest again.
    """
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is None or fulfilment.state != FulfilmentState.HELD:
        return None
    queue = waiting_for_decision if fulfilment.reason in POLICY_REASONS else given_up
    rows = queue().exclude(pk=fulfilment.pk)
    count = rows[: ATTENTION_CAP + 1].count()
    if not count:
        return None
    keys = rows.order_by("-transaction_id").values_list("transaction_id", flat=True)
    older = keys.filter(transaction_id__lt=transaction.pk).first()
    following = older if older is not None else keys.first()
    if following is None:  # a colleague has decided about it meanwhile
        return None
    left = str(count) if count <= ATTENTION_CAP else f"{ATTENTION_CAP}+"
    return Rest(next_pk=following, left=left)


def waiting_for_decision() -> QuerySet[Fulfilment]:
    """Return the holds that staff must decide about."""
    return _held().filter(loud_holds())


def given_up() -> QuerySet[Fulfilment]:
    """Return the deliveries that failed too often, or for good."""
    return _held().exclude(reason__in=POLICY_REASONS)


def _held() -> QuerySet[Fulfilment]:
    return Fulfilment.objects.primary().filter(state=FulfilmentState.HELD).order_by()
