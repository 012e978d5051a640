"""Handlers that work for longer than a lease: calls to the outside world, or one that hangs."""

import time

from payments_pages.confirmation import renew_lease
from payments_pages.models import Fulfilment, Transaction
from tests.support.goods.handlers import give

__all__ = [
    "LEASE",
    "STUCK",
    "hang_on_one",
    "hang_on_one_and_hold_its_payment",
    "work_long",
    "work_long_and_renew",
]

LEASE = 2
"""Seconds. A lease that is renewed every 0.4 seconds has time to spare on a busy computer."""
WORK = 5
PIECE = 0.4
STUCK = "STUCK-1"
"""The payment whose first attempt never returns."""
HANGS = True
"""False in the process of the test itself, which finishes what the others have left."""


def work_long(fulfilment: Fulfilment) -> None:
    """Make the call, then go on working without renewing the lease."""
    give(fulfilment)
    time.sleep(WORK)


def work_long_and_renew(fulfilment: Fulfilment) -> None:
    """Make the call, then work on and keep the lease."""
    give(fulfilment)
    end = time.monotonic() + WORK
    while time.monotonic() < end:
        time.sleep(PIECE)
        if not renew_lease(fulfilment):
            raise TimeoutError("the lease is lost")


def hang_on_one(fulfilment: Fulfilment) -> None:
    """Give; and never return from the first attempt at one of them."""
    give(fulfilment)
    if HANGS and fulfilment.transaction.reference == STUCK and fulfilment.attempts == 1:
        time.sleep(600)


def hang_on_one_and_hold_its_payment(fulfilment: Fulfilment) -> None:
    """Lock the mirrored payment as well, and hang."""
    list(Transaction.objects.select_for_update().filter(pk=fulfilment.transaction_id))
    hang_on_one(fulfilment)
