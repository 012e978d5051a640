"""Ask the service under a claim, and write down its answer, or why there is none.

No transaction is open while the service is asked.
"""

import logging
from dataclasses import dataclass

from django.db import InterfaceError

from payments_pages.client import get_client
from payments_pages.confirmation import verification
from payments_pages.confirmation.outcomes import error_facts
from payments_pages.confirmation.recording import Recorded, record
from payments_pages.confirmation.run import Run
from payments_pages.confirmation.turn import Turn
from payments_pages.db import is_transient
from payments_pages.exceptions import (
    AuthenticationFailed,
    ConfigurationError,
    ServiceError,
    UnusableKey,
)
from payments_pages.redaction import place_of

__all__ = ["Answered", "Unanswered", "ask"]

logger = logging.getLogger("payments_pages.confirmation")


@dataclass(frozen=True, slots=True)
class Answered:
    """The service's answer: the `status` it gave, and what was recorded.

    `recorded` is None when a later attempt has taken the claim over: then nothing was written.
    """

    status: str
    recorded: Recorded | None


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No answer to go by. `error` is None when one came that could not be recorded."""

    error: ServiceError | None


def ask(run: Run, turn: Turn) -> Answered | Unanswered:
    """Ask about a reference and record the answer.

    With `run.deliver_now`, a delivery that is opened is claimed for this caller.

    Raise `ConfigurationError` when a setting is missing, and what the database raises for a
    short-lived reason: whatever was committed is found by the next caller or the sweep.
    """
    existing = turn.known.transaction if turn.known is not None else None
    try:
        resource = get_client().verify_transaction(run.reference)
    except ServiceError as error:
        turn.admission.close(error)
        verification.fail(turn.claim, error, known=existing is not None)
        is_our_key = isinstance(error, AuthenticationFailed | UnusableKey)
        logger.log(
            logging.CRITICAL if is_our_key else logging.WARNING,
            "confirmation.unanswered: %s: %s",
            run.reference,
            error,
            extra={**error_facts(run.reference, run.door, error), "status": error.status},
        )
        return Unanswered(error)
    try:
        recorded = record(
            turn.claim,
            resource,
            key=run.key,
            existing=existing,
            page_claim=turn.row.page_claim,
            door=run.door,
            actor=run.actor,
            claim_delivery=run.deliver_now,
        )
    except (ConfigurationError, InterfaceError):
        raise
    except Exception as error:
        if is_transient(error):
            raise
        # A receiver of a signal that raises, a table that is not as it should be: people must act.
        verification.fail_to_record(turn.claim, error)
        logger.error(  # noqa: TRY400 - a traceback may quote the payer
            "confirmation.unrecorded: %s: %s",
            run.reference,
            place_of(error),
            extra=error_facts(run.reference, run.door, error),
        )
        return Unanswered(None)
    return Answered(resource.status, recorded)
