"""What the merchant does in a run: give, slowly at times, and fail now and then."""

import random
import time
from pathlib import Path

from django.conf import settings
from django.db import connection

from payments_pages.models import Fulfilment
from torture.effects.models import Effect
from torture.traces import Trace

__all__ = ["begins", "dawdle", "give_atomic", "give_external", "outside"]

_folder = Path(settings.RUN["folder"])
begins = Trace(_folder / "begins")
outside = Trace(_folder / "outside")
"""The world outside: what is written here stays, whatever becomes of the database."""

CHANCE_OF_ERROR = 0.03
LONGER_THAN_THE_LEASE = 1.8


def give_atomic(fulfilment: Fulfilment) -> None:
    """Write on the delivery's own connection: both are committed, or neither."""
    reference = _begin(fulfilment)
    Effect.objects.create(
        reference=reference, key=str(fulfilment.idempotency_key), attempt=fulfilment.attempts
    )
    dawdle()
    _perhaps_fail(fulfilment, reference)


def give_external(fulfilment: Fulfilment) -> None:
    """Write where no transaction reaches."""
    reference = _begin(fulfilment)
    dawdle()
    _perhaps_fail(fulfilment, reference)
    outside.say(reference, fulfilment.idempotency_key, fulfilment.attempts)
    dawdle()


def dawdle() -> None:
    """Take some time, at times longer than the lease. A writer on SQLite stops all others."""
    alone = connection.vendor == "sqlite" and connection.in_atomic_block
    if random.random() < (0.001 if alone else 0.02):
        time.sleep(LONGER_THAN_THE_LEASE)
    time.sleep(random.uniform(0, 0.004 if alone else 0.04))


def _begin(fulfilment: Fulfilment) -> str:
    reference = fulfilment.transaction.reference
    begins.say("begin", reference, fulfilment.attempts)
    return reference


def _perhaps_fail(fulfilment: Fulfilment, reference: str) -> None:
    if random.random() < CHANCE_OF_ERROR:
        begins.say("raise", reference, fulfilment.attempts)
        raise RuntimeError("no luck")
