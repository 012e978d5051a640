"""Record a failed attempt to deliver, or find out that the delivery took effect all the same."""

import logging
import random

from django.db import DatabaseError, InterfaceError
from django.db import transaction as db_transaction

from payments_pages.choices import Door, EventKind, FulfilmentState, Outcome, Reason
from payments_pages.conf import conf
from payments_pages.confirmation.fulfilment import (
    claimed,
    ended,
)
from payments_pages.confirmation.outcomes import outcome_of
from payments_pages.confirmation.timeline import append_to_timeline
from payments_pages.credentials import read_key_or_blank
from payments_pages.db import HeldRowError, change_unless_held, from_now, retry_transient
from payments_pages.exceptions import DeliveryError, PermanentFulfilmentError
from payments_pages.models import Fulfilment, primary_alias
from payments_pages.redaction import places_of, redact
from payments_pages.signals import fulfilment_failed, fulfilment_held

__all__ = ["log_error_after_delivery", "log_facts", "name_error", "record_failure"]

logger = logging.getLogger("payments_pages.fulfilment")


LONGEST_BACKOFF = 3600.0
"""Seconds before the next attempt at most, without the random factor."""


def record_failure(
    fulfilment: Fulfilment, error: Exception, door: Door, *, at_commit: bool
) -> Outcome:
    """Record a failed attempt, and return the outcome that is true then.

    The UPDATE changes no row if the attempt's commit took effect all the same, or if a later
    attempt has the delivery. `at_commit` says that the attempt had reached its own commit.
    """
    text = name_error(fulfilment, error)
    reason = _verdict_on(error, fulfilment.attempts)
    state = FulfilmentState.HELD if reason else FulfilmentState.FAILED
    delay = min(conf.backoff * 2 ** (fulfilment.attempts - 1), LONGEST_BACKOFF)
    jitter = random.uniform(1.0, 1.25)  # noqa: S311 - spreads load, guards nothing

    def record(number: int) -> bool:
        with db_transaction.atomic(using=primary_alias(Fulfilment)):
            recorded = change_unless_held(
                claimed(fulfilment),
                fulfilment.pk,
                state=state,
                reason=reason,
                last_error=text,
                next_at=None if reason else from_now(delay * jitter),
            )
            if recorded is None and claimed(fulfilment).exists():
                raise HeldRowError("Rivals look at this delivery.")  # each for a moment: try again
            if recorded:
                kind = EventKind.HELD if reason else EventKind.DELIVERY_FAILED
                append_to_timeline(fulfilment.reference_key, (kind, text), door=door)
        # An earlier try may have recorded it although the database's answer was lost: nobody else
        # ends this attempt in this state.
        return bool(recorded) or (number > 0 and ended(fulfilment, state).exists())

    try:
        if not retry_transient(record, using=primary_alias(Fulfilment)):
            return _after_the_fence(fulfilment, text, door, at_commit=at_commit)
    except (DatabaseError, InterfaceError):
        # When the lease ends, the sweep makes the next attempt.
        logger.warning(
            "fulfilment.failure_not_recorded: %s",
            fulfilment.transaction.reference,
            extra={**log_facts(fulfilment, door), "error": type(error).__name__},
        )
        return Outcome.DELIVERING
    fulfilment.state, fulfilment.reason, fulfilment.last_error = state, reason, text
    logger.error(
        "fulfilment.failed: %s: %s (%s)",
        fulfilment.transaction.reference,
        text,
        " > ".join(places_of(error)),
        # The stack for error trackers, under the cleaned text: the error's own, and those of its
        # causes, may quote the payer.
        exc_info=DeliveryError(text).with_traceback(error.__traceback__),
        extra={
            **log_facts(fulfilment, door),
            "error": type(error).__name__,
            "state": str(state),
        },
    )
    signal = fulfilment_held if reason else fulfilment_failed
    signal.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return outcome_of(fulfilment)


def log_facts(fulfilment: Fulfilment, door: Door) -> dict[str, object]:
    """Return the fields that each log record about a delivery has."""
    return {
        "reference": fulfilment.transaction.reference,
        "attempt": fulfilment.attempts,
        "door": str(door),
    }


def _after_the_fence(fulfilment: Fulfilment, text: str, door: Door, *, at_commit: bool) -> Outcome:
    """Return the outcome that is true if the failure could not be recorded under the claim.

    - A later attempt or a decision of staff may have changed the row.
    - The commit may have succeeded, and only a later step failed: an `on_commit` hook of the
      merchant's, or the connection (docs/cases.md C62). Then the value is given.
    - The database may have committed before the handler raised an error: see `_take_back`.
    """
    if not at_commit and _take_back(fulfilment, text, door):
        return Outcome.HELD
    if ended(fulfilment, FulfilmentState.DELIVERED).exists():
        log_error_after_delivery(fulfilment, text, door)
        fulfilment.state = FulfilmentState.DELIVERED
        return Outcome.DELIVERED
    logger.warning(
        "fulfilment.fenced_off: %s: %s",
        fulfilment.transaction.reference,
        text,
        extra=log_facts(fulfilment, door),
    )
    return outcome_of(Fulfilment.objects.primary().get(pk=fulfilment.pk))


def _take_back(fulfilment: Fulfilment, text: str, door: Door) -> bool:
    """Change this attempt's `delivered` to `held`; return False if its state is not `delivered`.

    This is the only transition out of `delivered`. It is used if the database committed that state
    early (a DDL statement on MariaDB and MySQL does so) and the handler then raised an error: the
    payer would read "delivered" and get nothing. There is no further attempt before staff decide,
    because what the handler wrote until then is committed, too, and would be given twice.

    To ask before the commit whether the transaction is still the same would not help: the next
    write opens a new one, and MySQL reports neither. Only the state that this attempt has set is
    changed.
    """

    def take(number: int) -> bool:
        with db_transaction.atomic(using=primary_alias(Fulfilment)):
            held = ended(fulfilment, FulfilmentState.DELIVERED).update(
                state=FulfilmentState.HELD,
                reason=Reason.PERMANENT_ERROR,
                last_error=text,
                delivered_at=None,
            )
            if held:
                append_to_timeline(fulfilment.reference_key, (EventKind.HELD, text), door=door)
        return bool(held) or (number > 0 and ended(fulfilment, FulfilmentState.HELD).exists())

    if not retry_transient(take, using=primary_alias(Fulfilment)):
        return False
    logger.critical(
        "fulfilment.committed_early: %s: %s",
        fulfilment.transaction.reference,
        text,
        extra=log_facts(fulfilment, door),
    )
    fulfilment.state, fulfilment.reason = FulfilmentState.HELD, Reason.PERMANENT_ERROR
    fulfilment.last_error = text
    fulfilment_held.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return True


def log_error_after_delivery(fulfilment: Fulfilment, text: str, door: Door) -> None:
    """Log an error of the merchant's code that was raised after the value was given."""
    logger.error(
        "fulfilment.error_after_delivery: %s: %s",
        fulfilment.transaction.reference,
        text,
        extra=log_facts(fulfilment, door),
    )


def _verdict_on(error: Exception, attempts: int) -> Reason:
    if isinstance(error, PermanentFulfilmentError):
        return Reason.PERMANENT_ERROR
    return Reason.ATTEMPTS_SPENT if attempts >= conf.max_attempts else Reason.NONE


def name_error(fulfilment: Fulfilment, error: Exception) -> str:
    """Return an error's class and text without the key and the payer's e-mail address."""
    return redact(
        f"{type(error).__name__}: {error}",
        read_key_or_blank(conf.secret_key),
        fulfilment.transaction.customer_email,
    )
