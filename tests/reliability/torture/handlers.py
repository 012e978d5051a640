"""What the merchant does in a run: give, slowly at times, and fail now and then."""

import random
import time
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from payments_pages.confirmation import renew_lease
from payments_pages.models import Fulfilment
from tests.reliability.torture.effects.models import Effect
from tests.reliability.torture.traces import Trace

__all__ = ["begins", "dawdle", "give_atomic", "give_external", "outside", "stop_dawdling"]

_folder = Path(settings.RUN["folder"])
begins = Trace(_folder / "begins")
outside = Trace(_folder / "outside")
"""A file outside the database: what is written here stays, also after a rollback."""

CHANCE_OF_ERROR = 0.03
CHANCE_OF_LONG_WORK = 0.02
PAUSE = 0.04
"""Seconds that each piece of work takes at most, if it is not long."""
CHANCE_OF_CARE = 0.5
"""Of external handlers at long work, so many renew their lease, as they should."""
LONGER_THAN_THE_LEASE = 1.8
RENEWALS = 6
"""How often a careful handler renews its lease in that time: every 0.3 s of a lease of one."""


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
    _dawdle_outside(fulfilment, reference)
    _perhaps_fail(fulfilment, reference)
    outside.say(reference, fulfilment.idempotency_key, fulfilment.attempts)
    _dawdle_outside(fulfilment, reference)


def dawdle() -> None:
    """Take some time, at times longer than the lease. A writer on SQLite stops all others."""
    alone = connection.vendor == "sqlite" and connection.in_atomic_block
    if random.random() < (0.001 if alone else CHANCE_OF_LONG_WORK):
        time.sleep(LONGER_THAN_THE_LEASE)
    time.sleep(random.uniform(0, PAUSE / 10 if alone else PAUSE))


def stop_dawdling() -> None:
    """Work without pauses in this process from now on: when nobody is killed any more."""
    global CHANCE_OF_LONG_WORK, PAUSE  # noqa: PLW0603 - a process has one pace
    CHANCE_OF_LONG_WORK = PAUSE = 0.0


def _dawdle_outside(fulfilment: Fulfilment, reference: str) -> None:
    """Take some time, at times longer than the lease, and with care renew it meanwhile."""
    if random.random() < CHANCE_OF_LONG_WORK:
        careful = random.random() < CHANCE_OF_CARE
        for _pause in range(RENEWALS):
            time.sleep(LONGER_THAN_THE_LEASE / RENEWALS)
            if careful:
                _renew(fulfilment, reference)
    time.sleep(random.uniform(0, PAUSE))


def _renew(fulfilment: Fulfilment, reference: str) -> None:
    """Renew the lease, or stop by raising: without it another attempt may be at work as well."""
    try:
        if renew_lease(fulfilment):
            return
    except (DatabaseError, InterfaceError):
        begins.say("raise", reference, fulfilment.attempts)
        raise
    begins.say("raise", reference, fulfilment.attempts)
    raise RuntimeError("the lease is lost")


def _begin(fulfilment: Fulfilment) -> str:
    reference = fulfilment.transaction.reference
    begins.say("begin", reference, fulfilment.attempts)
    return reference


def _perhaps_fail(fulfilment: Fulfilment, reference: str) -> None:
    if random.random() < CHANCE_OF_ERROR:
        begins.say("raise", reference, fulfilment.attempts)
        raise RuntimeError("no luck")
