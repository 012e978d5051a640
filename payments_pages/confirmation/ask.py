"""Ask the service under a claim, and record its answer, or the error in place of one.

No transaction is open while the service is asked.
"""

import logging
from dataclasses import dataclass
from functools import partial

from django.db import InterfaceError

from payments_pages.choices import FulfilmentState
from payments_pages.client import TransactionResource, get_client
from payments_pages.confirmation import verification
from payments_pages.confirmation.delivery import Result
from payments_pages.confirmation.first_delivery import is_first, record_and_deliver
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
    """The `status` in the service's answer, and what was recorded.

    `recorded` is None if a later attempt has taken over the claim: then nothing was written.
    `result` is that of the delivery if it was made with the record.
    """

    status: str
    recorded: Recorded | None
    result: Result | None = None


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The lack of a usable answer. `error` is None if an answer came and could not be recorded."""

    error: ServiceError | None


def ask(run: Run, turn: Turn) -> Answered | Unanswered:
    """Ask about a reference and record the answer.

    With `run.deliver_now`, a new delivery is claimed for this caller, or made with the record
    (`first_delivery`).

    Raise `ConfigurationError` if a setting is missing, and a short-lived error of the database:
    then the next caller or the sweep finds what was committed.
    """
    try:
        resource = get_client().verify_transaction(run.reference)
    except ServiceError as error:
        turn.admission.close(error)
        verification.fail(turn.claim, error, known=turn.known is not None)
        is_our_key = isinstance(error, AuthenticationFailed | UnusableKey)
        logger.log(
            logging.CRITICAL if is_our_key else logging.WARNING,
            "confirmation.unanswered: %s: %s",
            run.reference,
            error,
            extra={**error_facts(run.reference, run.door, error), "status": error.status},
        )
        return Unanswered(error)
    turn.admission.charge_unless_paid(resource.status)
    try:
        recorded, result = _record(run, turn, resource)
    except (ConfigurationError, InterfaceError):
        raise
    except Exception as error:
        if is_transient(error):
            raise
        # For example, a receiver raised an error, or a table has been changed: staff must act.
        verification.fail_to_record(turn.claim, error)
        logger.error(  # noqa: TRY400 - a traceback may quote the payer
            "confirmation.unrecorded: %s: %s",
            run.reference,
            place_of(error),
            extra=error_facts(run.reference, run.door, error),
        )
        return Unanswered(None)
    return Answered(resource.status, recorded, result)


def _record(
    run: Run, turn: Turn, resource: TransactionResource
) -> tuple[Recorded | None, Result | None]:
    existing = turn.known.transaction if turn.known is not None else None
    answered = partial(
        record,
        turn.claim,
        resource,
        key=run.key,
        existing=existing,
        page_hint=turn.row.page_claim,
        door=run.door,
        actor=run.actor,
    )
    if existing is None and is_first(turn.claim, deliver_now=run.deliver_now):
        return record_and_deliver(answered, turn.claim, run.key, door=run.door, actor=run.actor)
    state = FulfilmentState.DELIVERING if run.deliver_now else FulfilmentState.PENDING
    return answered(accepted_as=state), None
