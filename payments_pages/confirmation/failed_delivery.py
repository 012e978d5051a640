"""Record that an attempt to deliver has failed, as far as it has."""

import logging
import random
import traceback

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
from payments_pages.db import change_unless_held, from_now, retry_transient
from payments_pages.exceptions import PermanentFulfilmentError
from payments_pages.models import Fulfilment, primary_alias
from payments_pages.redaction import redact
from payments_pages.signals import fulfilment_failed, fulfilment_held

__all__ = ["log_error_after_delivery", "log_facts", "name_error", "record_failure"]

logger = logging.getLogger("payments_pages.fulfilment")


LONGEST_BACKOFF = 3600.0


def record_failure(
    fulfilment: Fulfilment, error: Exception, door: Door, *, at_commit: bool
) -> Outcome:
    """Write a failed attempt down, fenced: if the commit had taken effect after all, 0 rows.

    `at_commit` says that the attempt had come as far as its own commit.
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
            if recorded:
                kind = EventKind.HELD if reason else EventKind.DELIVERY_FAILED
                append_to_timeline(fulfilment.reference_key, (kind, text), door=door)
        # Or by the try before, whose answer was lost: nobody else ends this attempt so.
        return bool(recorded) or (number > 0 and ended(fulfilment, state).exists())

    try:
        if not retry_transient(record, using=primary_alias(Fulfilment)):
            return _after_the_fence(fulfilment, text, door, at_commit=at_commit)
    except (DatabaseError, InterfaceError):
        # The lease ends by itself and the sweep takes it from there.
        logger.warning(
            "fulfilment.failure_not_recorded: %s",
            fulfilment.transaction.reference,
            extra={**log_facts(fulfilment, door), "error": type(error).__name__},
        )
        return Outcome.DELIVERING
    fulfilment.state, fulfilment.reason, fulfilment.last_error = state, reason, text
    trace = _clean(fulfilment, "".join(traceback.format_exception(error)), limit=5000)
    logger.error(
        "fulfilment.failed: %s: %s",
        fulfilment.transaction.reference,
        trace,
        extra={**log_facts(fulfilment, door), "state": str(state)},
    )
    signal = fulfilment_held if reason else fulfilment_failed
    signal.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return outcome_of(fulfilment)


def log_facts(fulfilment: Fulfilment, door: Door) -> dict[str, object]:
    """Return what each of our log records says about a delivery."""
    return {
        "reference": fulfilment.transaction.reference,
        "attempt": fulfilment.attempts,
        "door": str(door),
    }


def _after_the_fence(fulfilment: Fulfilment, text: str, door: Door, *, at_commit: bool) -> Outcome:
    """Tell what is true when our failure could not be written: another attempt has the row.

    The commit may also have succeeded and only what came after it failed: an `on_commit` hook
    of the merchant's, or the connection (docs/cases.md C62). Then the value is given.
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
    """Hold for staff what reads "delivered" though its handler failed; False: it does not.

    The one way out of `delivered`, and only for what never was: the database committed our mark
    under the handler (DDL on MariaDB and MySQL does), and the handler then raised. Left alone, a
    payer would be told "delivered" and get nothing. It is not tried again by itself, for
    what the handler wrote before is committed too and would be given twice: a person looks.
    Asking before the commit whether the transaction is still the same would not do: the next
    write opens another, and MySQL tells neither. Fenced: this very attempt's mark and no other.
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
    """Log that something of the merchant's failed after the value was given."""
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
    return _clean(fulfilment, f"{type(error).__name__}: {error}")


def _clean(fulfilment: Fulfilment, text: str, limit: int = 500) -> str:
    return redact(
        text,
        read_key_or_blank(conf.secret_key),
        fulfilment.transaction.customer_email,
        limit=limit,
    )
