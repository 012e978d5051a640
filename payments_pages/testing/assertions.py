"""Say whether a reference was delivered, once."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet

from payments_pages.choices import EventKind, FulfilmentState
from payments_pages.confirmation.mirror import find_transaction
from payments_pages.models import Event, Fulfilment
from payments_pages.references import reference_key

__all__ = ["assert_delivered_once"]


def assert_delivered_once(
    reference: str, given: QuerySet[Any] | Callable[[], int] | None = None
) -> None:
    """Raise `AssertionError`, with the reason in words, unless a reference was delivered once.

    `given` is what your customer got for it, counted by you: a queryset of your own rows, or a
    function that returns how many there are. Without it only our own record is looked at, and
    that cannot tell a handler which swallows its own error and gives nothing.
    """
    key = reference_key(reference)
    transaction = find_transaction(key)
    if transaction is None:
        raise AssertionError(f"{reference} is not on record: was it confirmed?")
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is None:
        raise AssertionError(f"{reference} is not paid: its status is {transaction.status!r}.")
    if fulfilment.state != FulfilmentState.DELIVERED:
        why = fulfilment.get_reason_display() if fulfilment.reason else fulfilment.last_error
        raise AssertionError(f"{reference} is {fulfilment.state}, not delivered: {why}")
    told = Event.objects.primary().filter(reference_key=key, kind=EventKind.DELIVERED).count()
    if told != 1:
        raise AssertionError(f"{reference} was delivered {told} times.")
    if given is None:
        return
    count = given() if callable(given) else given.count()
    if count != 1:
        raise AssertionError(f"{reference} is delivered, but what was given for it counts {count}.")
