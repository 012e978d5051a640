"""Handlers for the suite. They take orders through the database or module state."""

import os
import signal
import time

from payments_pages.exceptions import PermanentFulfilmentError
from payments_pages.models import Fulfilment
from tests.goods.models import Good


def give(fulfilment: Fulfilment) -> None:
    Good.objects.create(
        reference=fulfilment.transaction.reference,
        key=fulfilment.idempotency_key,
        attempt=fulfilment.attempts,
    )


deliver = give


def refuse(fulfilment: Fulfilment) -> None:
    """Write, then fail for good."""
    give(fulfilment)
    raise PermanentFulfilmentError("sold out")


def fail_first(fulfilment: Fulfilment) -> None:
    """Write, then fail on the first attempt: the write must be rolled back."""
    give(fulfilment)
    if fulfilment.attempts == 1:
        raise RuntimeError("the first attempt fails")


def fail_always(fulfilment: Fulfilment) -> None:
    give(fulfilment)
    raise RuntimeError(f"no luck for {fulfilment.transaction.customer_email} sk_test_suite")


def die_first(fulfilment: Fulfilment) -> None:
    """Write, then take the whole process down on the first attempt."""
    give(fulfilment)
    if fulfilment.attempts == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def slow(fulfilment: Fulfilment) -> None:
    give(fulfilment)
    time.sleep(0.5)
