"""Handlers that call the outside world: what they did there no rollback undoes."""

import os
import signal
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db import transaction as db_transaction

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment, renew_lease
from payments_pages.models import Fulfilment
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good


class Call(NamedTuple):
    key: UUID
    attempt: int
    inside_transaction: bool


CALLS: list[Call] = []
"""What the outside world has seen; a test clears it."""


def call(fulfilment: Fulfilment) -> None:
    CALLS.append(Call(fulfilment.idempotency_key, fulfilment.attempts, connection.in_atomic_block))


def call_and_write(fulfilment: Fulfilment) -> None:
    call(fulfilment)
    Good.objects.create(
        reference=fulfilment.transaction.reference,
        key=fulfilment.idempotency_key,
        attempt=fulfilment.attempts,
    )


def fail_first(fulfilment: Fulfilment) -> None:
    """Be refused out there, once."""
    call_and_write(fulfilment)
    if fulfilment.attempts == 1:
        raise RuntimeError("the outside world said no")


def die_first(fulfilment: Fulfilment) -> None:
    """Take the process down when all is done but the record of it."""
    call_and_write(fulfilment)
    if fulfilment.attempts == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def oversleep_first(fulfilment: Fulfilment) -> None:
    """Take longer than the lease: a rival comes and delivers meanwhile."""
    call(fulfilment)
    if fulfilment.attempts == 1:
        let_time_pass(3600)
        found = confirm_payment(fulfilment.transaction.reference, door=Door.SWEEP, deliver_now=True)
        assert found.outcome == "delivered"


RENEWED: list[bool] = []


def work_long(fulfilment: Fulfilment) -> None:
    """Renew the lease in time, twice, then once too late."""
    call(fulfilment)
    for seconds in (50, 50, 70):
        let_time_pass(seconds)
        RENEWED.append(renew_lease(fulfilment))
    if not RENEWED[-1]:
        raise RuntimeError("the lease is lost")


def renew_inside_a_transaction(fulfilment: Fulfilment) -> None:
    with db_transaction.atomic():
        renew_lease(fulfilment)
