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

from django.db import DatabaseError, InterfaceError
from django.db import transaction as db_transaction

from payments_pages.choices import Door, EventKind, FulfilmentState, Outcome, Reason
from payments_pages.conf import conf
from payments_pages.confirmation.completion import Completion, ended, note
from payments_pages.confirmation.fulfilment import (
    await_delivery,
    claim,
    claimed,
    is_claimable,
    outcome_of,
    renew_lease,
)
from payments_pages.confirmation.handlers import Handler, load_handler
from payments_pages.credentials import read_key_or_blank
from payments_pages.db.expressions import from_now
from payments_pages.db.row_locks import change_unless_held
from payments_pages.db.transient import tried_again
from payments_pages.exceptions import PermanentFulfilmentError
from payments_pages.models import Fulfilment, primary_alias
from payments_pages.redaction import redact
from payments_pages.signals import fulfilment_delivered, fulfilment_failed, fulfilment_held

__all__ = ["deliver", "deliver_here"]

logger = logging.getLogger("payments_pages.fulfilment")

LONGEST_BACKOFF = 3600.0


def deliver_here(fulfilment: Fulfilment, *, due: bool, door: Door) -> Outcome:
    """Claim an open delivery and make it; wait briefly for a rival's; else say what is true.

    If another transaction holds the row, answer `DELIVERING` at once.

    `due` says that the row's `next_at` has come, by the database's clock.
    """
    if is_claimable(fulfilment, due=due):
        mine = claim(fulfilment)
        if mine is None:
            return Outcome.DELIVERING
        return deliver(fulfilment, door=door) if mine else await_delivery(fulfilment)
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
    completion = Completion(fulfilment, door)
    try:
        given = give(completion, load_handler())
    except Exception as error:  # noqa: BLE001 - the merchant's code may raise anything
        fulfilment.state = FulfilmentState.DELIVERING
        outcome = _record_failure(fulfilment, error, door, at_commit=completion.at_commit)
    else:
        outcome = Outcome.DELIVERED if given else Outcome.DELIVERING
        if not given:
            logger.warning(
                "fulfilment.fenced_off: %s: attempt %s came too late",
                fulfilment.transaction.reference,
                fulfilment.attempts,
                extra=_facts(fulfilment, door),
            )
    if completion.after is not None:
        late = completion.after
        _tell_error_after(fulfilment, _clean(fulfilment, f"{type(late).__name__}: {late}"), door)
    if outcome is Outcome.DELIVERED:
        logger.info(
            "fulfilment.delivered: %s: attempt %s",
            fulfilment.transaction.reference,
            fulfilment.attempts,
            extra=_facts(fulfilment, door),
        )
        fulfilment_delivered.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return outcome


def _give_inside(completion: Completion, handler: Handler) -> bool:
    """Complete and run the handler in one transaction. False: fenced off, the handler did not run.

    What a deadlock or a serialization failure has rolled back is tried again at once.
    """
    return completion.run(handler)


def _give_outside(completion: Completion, handler: Handler) -> bool:
    """Run the handler with no transaction open, then complete.

    False: fenced off. Before the handler: it did not run, for who slept past the lease must not
    run it beside a later attempt. After it: the later attempt's word counts, ours is dropped.
    """
    if not renew_lease(completion.fulfilment):
        return False
    handler(completion.fulfilment)
    # The work is done; only its record is missing. Each try spares a second call.
    return completion.run(_nothing_more, within=math.inf)


def _nothing_more(fulfilment: Fulfilment) -> None:
    """Stand for the handler that has run already."""


def _record_failure(
    fulfilment: Fulfilment, error: Exception, door: Door, *, at_commit: bool = True
) -> Outcome:
    """Write a failed attempt down, fenced: if the commit had taken effect after all, 0 rows.

    `at_commit` says that the attempt had come as far as its own commit.
    """
    text = _clean(fulfilment, f"{type(error).__name__}: {error}")
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
                note(fulfilment, kind, door, text)
        # Or by the try before, whose answer was lost: nobody else ends this attempt so.
        return bool(recorded) or (number > 0 and ended(fulfilment, state).exists())

    try:
        if not tried_again(record, using=primary_alias(Fulfilment)):
            return _after_the_fence(fulfilment, text, door, at_commit=at_commit)
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


def _after_the_fence(fulfilment: Fulfilment, text: str, door: Door, *, at_commit: bool) -> Outcome:
    """Tell what is true when our failure could not be written: another attempt has the row.

    The commit may also have succeeded and only what came after it failed: an `on_commit` hook
    of the merchant's, or the connection (case C62). Then the value is given.
    """
    if not at_commit and _take_back(fulfilment, text, door):
        return Outcome.HELD
    if ended(fulfilment, FulfilmentState.DELIVERED).exists():
        _tell_error_after(fulfilment, text, door)
        fulfilment.state = FulfilmentState.DELIVERED
        return Outcome.DELIVERED
    logger.warning(
        "fulfilment.fenced_off: %s: %s",
        fulfilment.transaction.reference,
        text,
        extra=_facts(fulfilment, door),
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
                note(fulfilment, EventKind.HELD, door, text)
        return bool(held) or (number > 0 and ended(fulfilment, FulfilmentState.HELD).exists())

    if not tried_again(take, using=primary_alias(Fulfilment)):
        return False
    logger.critical(
        "fulfilment.committed_early: %s: %s",
        fulfilment.transaction.reference,
        text,
        extra=_facts(fulfilment, door),
    )
    fulfilment.state, fulfilment.reason = FulfilmentState.HELD, Reason.PERMANENT_ERROR
    fulfilment.last_error = text
    fulfilment_held.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return True


def _tell_error_after(fulfilment: Fulfilment, text: str, door: Door) -> None:
    logger.error(
        "fulfilment.error_after_delivery: %s: %s",
        fulfilment.transaction.reference,
        text,
        extra=_facts(fulfilment, door),
    )


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
