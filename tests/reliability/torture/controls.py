"""Do it wrong, in the three ways that everybody writes first: the harness must notice."""

import random
import time
from collections.abc import Callable, Mapping

from django.db import IntegrityError, transaction

from payments_pages.client import get_client
from tests.reliability.torture.effects.models import Effect, Mark
from tests.reliability.torture.handlers import begins, dawdle
from tests.reliability.torture.plan import PRICE

__all__ = ["CONTROLS"]

PREPARATION = 0.15
"""Seconds that the value takes to make, before it is written; at most."""


def _is_paid(reference: str) -> bool:
    found = get_client().verify_transaction(reference)
    return (found.status, found.amount, found.currency, found.domain) == (
        "success", PRICE, "ILS", "test",
    )  # fmt: skip


def _work(reference: str) -> None:
    begins.say("begin", reference, 1)
    time.sleep(random.uniform(0, PREPARATION))
    with transaction.atomic():
        Effect.objects.create(reference=reference, key="", attempt=1)
        dawdle()


def mark_first(reference: str) -> str:
    """Note "done", then do it: who dies between the two has lost a payment."""
    if not _is_paid(reference):
        return "not_paid"
    try:
        Mark.objects.create(reference=reference)
    except IntegrityError:
        return "already_delivered"
    _work(reference)
    return "delivered"


def work_first(reference: str) -> str:
    """Do it, then note "done": who dies between the two has it done again."""
    if Mark.objects.filter(reference=reference).exists():
        return "already_delivered"
    if not _is_paid(reference):
        return "not_paid"
    _work(reference)
    Mark.objects.get_or_create(reference=reference)
    return "delivered"


def no_guard(reference: str) -> str:
    """Look whether it is done, and do it: rivals look at the same moment."""
    if Effect.objects.filter(reference=reference).exists():
        return "already_delivered"
    if not _is_paid(reference):
        return "not_paid"
    _work(reference)
    return "delivered"


CONTROLS: Mapping[str, Callable[[str], str]] = {
    "mark-first": mark_first,
    "work-first": work_first,
    "no-guard": no_guard,
}
