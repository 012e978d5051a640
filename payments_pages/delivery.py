"""Run the handler under a claim, and complete the delivery: at most once for each attempt.

Two kinds of handler, by `HANDLER_ATOMIC`:

- Atomic (the default). One transaction, whose *first* statement sets `delivered` under the claim;
  the handler's writes follow on the same connection. Both commit or neither does: exactly once
  for what the handler writes there.
- External. The handler runs under the lease with no transaction of ours open; then `delivered`
  is set under the claim. At least once, never with another `idempotency_key`, and never twice at
  the same time while the lease holds: after a crash or an ended lease it runs again, with the
  same key. Make the call idempotent on that key.
"""

import logging
import math
import random
import traceback

from django.db import DatabaseError, InterfaceError, connections
from django.db import transaction as db_transaction

from payments_pages.choices import Door, EventKind, FulfilmentState, Outcome, Reason
from payments_pages.conf import conf
from payments_pages.databases import from_now, tried_again
from payments_pages.exceptions import DeliveryError, PermanentFulfilmentError
from payments_pages.fulfilment import (
    await_delivery,
    claim,
    claimed,
    is_claimable,
    outcome_of,
    renew_lease,
)
from payments_pages.handlers import Handler, load_handler
from payments_pages.keys import read_key_or_blank
from payments_pages.models import Event, Fulfilment, primary_alias
from payments_pages.prepared import COMPLETE_FULFILMENT, INSERT_EVENT
from payments_pages.redaction import redact
from payments_pages.signals import fulfilment_delivered, fulfilment_failed, fulfilment_held

__all__ = ["deliver", "deliver_here"]

logger = logging.getLogger("payments_pages.fulfilment")

LONGEST_BACKOFF = 3600.0
COMPLETE_WITHIN = 2.0
"""Seconds after which a delivery that the database undid is left to the sweep, not tried again."""


def deliver_here(fulfilment: Fulfilment, *, due: bool, door: Door) -> Outcome:
    """Claim what is open and deliver it; wait briefly for whoever holds it; else say what is true.

    `due` says that the row's `next_at` has come, by the database's clock.
    """
    if is_claimable(fulfilment, due=due):
        return deliver(fulfilment, door=door) if claim(fulfilment) else await_delivery(fulfilment)
    if fulfilment.state == FulfilmentState.DELIVERING:
        return await_delivery(fulfilment)
    return outcome_of(fulfilment)


def deliver(fulfilment: Fulfilment, *, door: Door) -> Outcome:
    """Run the handler under the claim that `fulfilment.attempts` stands for.

    Return `DELIVERED`; `DELIVERING` when a later attempt has fenced this one off, which is
    logged and changes nothing, or when it cannot be known whether the commit took effect;
    `DELIVERY_FAILED` or `HELD` when the handler raised: rolled back if it is atomic, recorded,
    and due again after a backoff that doubles to an hour.
    """
    give = _give_inside if conf.handler_atomic else _give_outside
    try:
        given = give(fulfilment, load_handler(), door)
    except Exception as error:  # noqa: BLE001 - the merchant's code may raise anything
        fulfilment.state = FulfilmentState.DELIVERING
        outcome = _record_failure(fulfilment, error, door)
    else:
        outcome = Outcome.DELIVERED if given else Outcome.DELIVERING
        if not given:
            logger.warning(
                "fulfilment.fenced_off: %s: attempt %s came too late",
                fulfilment.transaction.reference,
                fulfilment.attempts,
                extra=_facts(fulfilment, door),
            )
    if outcome is Outcome.DELIVERED:
        logger.info(
            "fulfilment.delivered: %s: attempt %s",
            fulfilment.transaction.reference,
            fulfilment.attempts,
            extra=_facts(fulfilment, door),
        )
        fulfilment_delivered.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return outcome


def _give_inside(fulfilment: Fulfilment, handler: Handler, door: Door) -> bool:
    """Complete and run the handler in one transaction. False: fenced off, the handler did not run.

    What a deadlock or a serialization failure has rolled back is tried again at once.
    """
    return _completed(fulfilment, handler, door)


def _give_outside(fulfilment: Fulfilment, handler: Handler, door: Door) -> bool:
    """Run the handler with no transaction open, then complete.

    False: fenced off. Before the handler: it did not run, for who slept past the lease must not
    run it beside a later attempt. After it: the later attempt's word counts, ours is dropped.
    """
    if not renew_lease(fulfilment):
        return False
    handler(fulfilment)
    # The work is done; only its record is missing. Each try spares a second call.
    return _completed(fulfilment, _nothing_more, door, within=math.inf)


def _completed(
    fulfilment: Fulfilment, work: Handler, door: Door, *, within: float = COMPLETE_WITHIN
) -> bool:
    """Complete, again after a passing error; a commit whose answer was lost counts."""

    def once(number: int) -> bool:
        fulfilment.state = FulfilmentState.DELIVERING
        return _complete(fulfilment, work, door) or (number > 0 and _was_completed(fulfilment))

    return tried_again(once, using=primary_alias(Fulfilment), within=within)


def _nothing_more(fulfilment: Fulfilment) -> None:
    """Stand for the handler that has run already."""


def _complete(fulfilment: Fulfilment, work: Handler, door: Door) -> bool:
    """Set `delivered` under the claim and do the rest of the work; both commit or neither does."""
    with db_transaction.atomic(using=primary_alias(Fulfilment), durable=True):
        # `claimed(fulfilment)` by name: the fence is the first statement of its transaction.
        mine = COMPLETE_FULFILMENT.run(
            primary_alias(Fulfilment), pk=fulfilment.pk, attempt=fulfilment.attempts
        )
        if not mine:
            return False
        fulfilment.state = FulfilmentState.DELIVERED
        work(fulfilment)
        if connections[primary_alias(Fulfilment)].vendor == "mysql":
            # A deadlock rolls InnoDB's whole transaction back, our mark with it, and lets what
            # comes next commit: a handler that swallowed the error would be run again.
            _refuse_lost_mark(fulfilment)
        # A query after the handler: had it marked the block for rollback without raising, this
        # raises, and we do not tell a payer "delivered" about what is then undone.
        _event(fulfilment, EventKind.DELIVERED, door, f"attempt {fulfilment.attempts}")
    return True


def _refuse_lost_mark(fulfilment: Fulfilment) -> None:
    if not _was_completed(fulfilment):
        raise DeliveryError("The database has rolled the delivery back under the handler.")


def _was_completed(fulfilment: Fulfilment) -> bool:
    """Say whether this very attempt is delivered: a commit may take effect and not be answered."""
    done = Fulfilment.objects.primary().filter(
        pk=fulfilment.pk, attempts=fulfilment.attempts, state=FulfilmentState.DELIVERED
    )
    return done.exists()


def _record_failure(fulfilment: Fulfilment, error: Exception, door: Door) -> Outcome:
    """Write a failed attempt down, fenced: if the commit had taken effect after all, 0 rows."""
    text = _clean(fulfilment, f"{type(error).__name__}: {error}")
    reason = _verdict_on(error, fulfilment.attempts)
    state = FulfilmentState.HELD if reason else FulfilmentState.FAILED
    delay = min(conf.backoff * 2 ** (fulfilment.attempts - 1), LONGEST_BACKOFF)
    jitter = random.uniform(1.0, 1.25)  # noqa: S311 - spreads load, guards nothing
    try:
        recorded = claimed(fulfilment).update(
            state=state,
            reason=reason,
            last_error=text,
            next_at=None if reason else from_now(delay * jitter),
        )
        if not recorded:
            return _after_the_fence(fulfilment, text, door)
        _event(fulfilment, EventKind.HELD if reason else EventKind.DELIVERY_FAILED, door, text)
    except (DatabaseError, InterfaceError):
        # The lease ends by itself and the sweep takes it from there.
        logger.warning(
            "fulfilment.failure_not_recorded: %s",
            fulfilment.transaction.reference,
            extra={**_facts(fulfilment, door), "error": type(error).__name__},
        )
        return Outcome.DELIVERING
    fulfilment.state, fulfilment.reason, fulfilment.last_error = state, reason, text
    trace = _clean(fulfilment, "".join(traceback.format_exception(error)), limit=5000)
    logger.error(
        "fulfilment.failed: %s: %s",
        fulfilment.transaction.reference,
        trace,
        extra={**_facts(fulfilment, door), "state": str(state)},
    )
    signal = fulfilment_held if reason else fulfilment_failed
    signal.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return outcome_of(fulfilment)


def _facts(fulfilment: Fulfilment, door: Door) -> dict[str, object]:
    """Return what each of our log records says about a delivery."""
    return {
        "reference": fulfilment.transaction.reference,
        "attempt": fulfilment.attempts,
        "door": str(door),
    }


def _after_the_fence(fulfilment: Fulfilment, text: str, door: Door) -> Outcome:
    """Tell what is true when our failure could not be written: another attempt has the row.

    The commit may also have succeeded and only what came after it failed: an `on_commit` hook
    of the merchant's, or the connection (case C62). Then the value is given.
    """
    reference = fulfilment.transaction.reference
    if _was_completed(fulfilment):
        logger.error(
            "fulfilment.error_after_delivery: %s: %s",
            reference,
            text,
            extra=_facts(fulfilment, door),
        )
        fulfilment.state = FulfilmentState.DELIVERED
        return Outcome.DELIVERED
    logger.warning("fulfilment.fenced_off: %s: %s", reference, text, extra=_facts(fulfilment, door))
    return outcome_of(Fulfilment.objects.primary().get(pk=fulfilment.pk))


def _verdict_on(error: Exception, attempts: int) -> Reason:
    if isinstance(error, PermanentFulfilmentError):
        return Reason.PERMANENT_ERROR
    return Reason.ATTEMPTS_SPENT if attempts >= conf.max_attempts else Reason.NONE


def _clean(fulfilment: Fulfilment, text: str, limit: int = 500) -> str:
    return redact(
        text,
        read_key_or_blank(conf.secret_key),
        fulfilment.transaction.customer_email,
        limit=limit,
    )


def _event(fulfilment: Fulfilment, kind: EventKind, door: Door, detail: str) -> None:
    event = Event(reference_key=fulfilment.reference_key, kind=kind, door=door, detail=detail)
    INSERT_EVENT.run(primary_alias(Event), event)
