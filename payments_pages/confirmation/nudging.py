"""Leave a delivery to a worker: send it the bare reference, after the commit.

A message is only speed. It carries nothing but the reference, and may be lost, doubled, late or
forged: the row is the truth, and the sweep takes what no worker came for.
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
"""Seconds that sending may take; what takes longer is logged, for a payer waits meanwhile."""

Nudge = Callable[[str], object]


def load_nudge() -> Nudge:
    """Return the callable that `NUDGE` names; raise `ConfigurationError` if there is none."""
    return load_function("NUDGE", conf.nudge)


def hand_on(fulfilment: Fulfilment, *, due: bool, door: Door) -> Outcome:
    """Claim nothing: send the reference on if the delivery is open, and say what is true now.

    What `DELIVERY: "queued"` does in place of `deliver_here`. A payer who comes back to a failed
    delivery sends it again, as they would have it tried again here (docs/cases.md C12).
    """
    if is_claimable(fulfilment, due=due):
        send_nudge(fulfilment.transaction.reference, door=door)
    return outcome_of(fulfilment)


def send_nudge(reference: str, *, door: Door) -> bool:
    """Send a reference to the workers. False: it was not sent, which is logged and no more.

    Must be called with no transaction open: a worker may be quicker than our commit. The shipped
    senders give up after a short time by themselves; `NUDGE` of a merchant's own must do so too,
    for no callable can be cut short from outside.
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
