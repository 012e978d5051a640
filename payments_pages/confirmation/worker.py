"""Do what a queue's worker does with a message: take its reference through the path."""

import logging

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation.confirm import confirm_payment
from payments_pages.exceptions import InvalidReference

__all__ = ["take_message"]

logger = logging.getLogger("payments_pages.worker")


def take_message(reference: str) -> Outcome | None:
    """Confirm and deliver one reference; None for a message that holds none.

    Every engine's task is this call. It decides nothing by the message, so a lost, doubled, late
    or forged one changes nothing. An engine's own retries are not needed: the row knows when it
    is due again.
    """
    try:
        found = confirm_payment(reference, door=Door.WORKER, deliver_now=True)
    except InvalidReference:
        logger.warning("worker.invalid_message")
        return None
    return found.outcome
