"""Leave a delivery to a worker: send it the reference, after the commit.

A message only makes the delivery faster. It contains nothing but the reference, and it may be lost,
doubled, late or forged: only the row counts, and the sweep makes deliveries that no worker makes.
"""

import logging
import time
from collections.abc import Callable

from payments_pages.choices import Door, Outcome
from payments_pages.conf import conf, load_function
from payments_pages.confirmation.fulfilment import is_claimable
from payments_pages.confirmation.outcomes import outcome_of
from payments_pages.db import refuse_open_transaction
from payments_pages.models import Fulfilment

__all__ = ["hand_on", "load_nudge", "send_nudge"]

logger = logging.getLogger("payments_pages.nudging")

SLOW = 1.0
"""Seconds that the sending may take. If it takes longer, this is logged: a payer waits for it."""

Nudge = Callable[[str], object]


def load_nudge() -> Nudge:
    """Return the callable that `NUDGE` names; raise `ConfigurationError` if there is none."""
    return load_function("NUDGE", conf.nudge)


def hand_on(fulfilment: Fulfilment, *, due: bool, door: Door) -> Outcome:
    """Send the reference to the workers if the delivery is open; return the current outcome.

    Nothing is claimed. With `DELIVERY: "queued"` this is called in place of `deliver_here`. If a
    payer comes back to a failed delivery, the reference is sent again (docs/cases.md C12).
    """
    if is_claimable(fulfilment, due=due):
        send_nudge(fulfilment.transaction.reference, door=door)
    return outcome_of(fulfilment)


def send_nudge(reference: str, *, door: Door) -> bool:
    """Send a reference to the workers. Return whether it was sent; an error is only logged.

    The shipped senders give up after a short time. A merchant's own `NUDGE` must do so, too: a
    callable cannot be stopped from outside.

    Raise `OpenTransactionError` inside an open transaction: a worker may start before its commit.
    """
    refuse_open_transaction("A reference was sent to the workers")
    started = time.monotonic()
    try:
        load_nudge()(reference)
    except Exception as error:  # noqa: BLE001 - a broker's client may raise anything
        logger.error(  # noqa: TRY400 - a traceback may quote the broker's address and password
            "nudge.failed: %s: the sweep will take it",
            reference,
            extra={"reference": reference, "error": type(error).__name__, "door": str(door)},
        )
        return False
    seconds = time.monotonic() - started
    if seconds > SLOW:
        logger.warning(
            "nudge.slow: %s",
            reference,
            extra={"reference": reference, "seconds": round(seconds, 1), "door": str(door)},
        )
    return True
