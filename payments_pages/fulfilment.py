"""Give the value, once: open the delivery, claim it, run the handler, complete it.

`claim` is an autocommit compare-and-set. `deliver` opens one transaction whose *first* statement
sets `delivered`, fenced by the attempt's number; the merchant's writes follow on the same
connection. Both commit or neither does: exactly once for what the handler writes there.
"""

import logging
import random
import time
import traceback

from django.db import DatabaseError
from django.db import transaction as db_transaction
from django.db.models import F, Q

from payments_pages.choices import Door, EventKind, FulfilmentState, Outcome, Reason, Verdict
from payments_pages.conf import conf
from payments_pages.databases import UtcNow, from_now
from payments_pages.exceptions import PermanentFulfilmentError
from payments_pages.handlers import load_handler
from payments_pages.models import Event, Fulfilment, Transaction, primary_alias
from payments_pages.models.fulfilments import FulfilmentQuerySet
from payments_pages.policy import POLICY_REASONS, Decision
from payments_pages.redaction import redact
from payments_pages.signals import fulfilment_delivered, fulfilment_failed, fulfilment_held

__all__ = ["await_delivery", "claim", "deliver", "open_fulfilment", "outcome_of", "revise"]

logger = logging.getLogger("payments_pages.fulfilment")

LONGEST_BACKOFF = 3600.0
RIVAL_PATIENCE = 2.0
EARLY_ATTEMPTS = 4
"""Attempts that a door may make before the backoff allows the next one."""

_OUTCOMES = {
    FulfilmentState.PENDING: Outcome.DELIVERING,
    FulfilmentState.DELIVERING: Outcome.DELIVERING,
    FulfilmentState.DELIVERED: Outcome.ALREADY_DELIVERED,
    FulfilmentState.FAILED: Outcome.DELIVERY_FAILED,
    FulfilmentState.HELD: Outcome.HELD,
    FulfilmentState.REJECTED: Outcome.REJECTED,
}


_UNFINISHED = frozenset(
    {FulfilmentState.PENDING, FulfilmentState.FAILED, FulfilmentState.DELIVERING}
)


def outcome_of(fulfilment: Fulfilment) -> Outcome:
    """Name what a fulfilment's state means to who asks now."""
    return _OUTCOMES[FulfilmentState(fulfilment.state)]


def open_fulfilment(transaction: Transaction, decision: Decision) -> Fulfilment | None:
    """Insert the delivery that a decision calls for; None when it says wait.

    Accepted: inserted already claimed by this caller, whose attempt is 1; if the caller dies,
    the lease ends and the sweep takes it.
    """
    if decision.verdict is Verdict.WAIT:
        return None
    accepted = decision.verdict is Verdict.ACCEPT
    fulfilment = Fulfilment(
        transaction=transaction,
        reference_key=transaction.reference_key,
        state=FulfilmentState.DELIVERING if accepted else FulfilmentState.HELD,
        reason=decision.reason,
        overpaid=decision.overpaid,
        attempts=1 if accepted else 0,
        next_at=from_now(conf.lease) if accepted else None,
    )
    fulfilment.save(force_insert=True)
    return fulfilment


def revise(fulfilment: Fulfilment, decision: Decision) -> bool:
    """Let new facts change a hold that the policy made, or stop what is not delivered yet.

    Never touch what is delivered, being delivered, or decided by staff; a delivery whose lease
    has ended is not being delivered (case C14: reversed before it was given). Compare-and-set on the
    state, reason and attempt that the decision was made against; False when they have moved on.
    """
    accepted = decision.verdict is Verdict.ACCEPT
    if not _may_revise(fulfilment, decision):
        return False
    state, reason = (
        (FulfilmentState.PENDING, Reason.NONE)
        if accepted
        else (FulfilmentState.HELD, decision.reason)
    )
    unmoved = Q(
        pk=fulfilment.pk,
        state=fulfilment.state,
        reason=fulfilment.reason,
        attempts=fulfilment.attempts,
    )
    if fulfilment.state == FulfilmentState.DELIVERING:
        unmoved &= Q(next_at__lte=UtcNow())
    changed = (
        Fulfilment.objects.primary()
        .filter(unmoved)
        .update(
            state=state,
            reason=reason,
            overpaid=decision.overpaid,
            next_at=UtcNow() if accepted else None,
        )
    )
    if changed:
        fulfilment.state, fulfilment.reason = state, reason
    return bool(changed)


def _may_revise(fulfilment: Fulfilment, decision: Decision) -> bool:
    if fulfilment.decided_by and decision.verdict is not Verdict.WAIT:
        return False
    if fulfilment.state == FulfilmentState.HELD:
        return fulfilment.reason in POLICY_REASONS
    return fulfilment.state in _UNFINISHED and decision.verdict is not Verdict.ACCEPT


def claim(fulfilment: Fulfilment) -> bool:
    """Take the exclusive, expiring right to run the handler; False when somebody else has it.

    A failed delivery is tried at once when a door comes back for it (case C12), the first few
    times; after that only when it is due, so that a payer who reloads cannot spend all attempts
    in a minute. `attempts` in the condition lets one of many rivals win each round.
    """
    soon = Q(attempts__lt=EARLY_ATTEMPTS) | Q(next_at__lte=UtcNow())
    won = (
        Fulfilment.objects.primary()
        .filter(pk=fulfilment.pk, attempts=fulfilment.attempts)
        .filter(
            Q(state=FulfilmentState.PENDING)
            | Q(soon, state=FulfilmentState.FAILED)
            | Q(state=FulfilmentState.DELIVERING, next_at__lte=UtcNow())
        )
        .update(
            state=FulfilmentState.DELIVERING,
            attempts=F("attempts") + 1,
            next_at=from_now(conf.lease),
        )
    )
    if won:
        fulfilment.attempts += 1
        fulfilment.state = FulfilmentState.DELIVERING
    return bool(won)


def await_delivery(fulfilment: Fulfilment) -> Outcome:
    """Wait briefly for the caller that holds the claim; name what is true then."""
    give_up = time.monotonic() + RIVAL_PATIENCE
    pause = 0.02
    while time.monotonic() < give_up:
        current = Fulfilment.objects.primary().get(pk=fulfilment.pk)
        if current.state != FulfilmentState.DELIVERING:
            return outcome_of(current)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)
    return Outcome.DELIVERING


def deliver(fulfilment: Fulfilment, *, door: Door) -> Outcome:
    """Run the handler under the claim that `fulfilment.attempts` stands for.

    Return `DELIVERED`; `DELIVERING` when a later attempt has fenced this one off, or when it
    cannot be known whether the commit took effect; `DELIVERY_FAILED` or `HELD` when the handler
    raised: rolled back, recorded, and due again after a backoff that doubles to an hour.
    """
    try:
        outcome = Outcome.DELIVERED if _run(fulfilment, door) else Outcome.DELIVERING
    except Exception as error:  # noqa: BLE001 - the merchant's code may raise anything
        fulfilment.state = FulfilmentState.DELIVERING
        outcome = _record_failure(fulfilment, error, door)
    if outcome is Outcome.DELIVERED:
        fulfilment_delivered.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return outcome


def _run(fulfilment: Fulfilment, door: Door) -> bool:
    using = primary_alias(Fulfilment)
    handler = load_handler()
    with db_transaction.atomic(using=using, durable=True):
        mine = _mine(fulfilment).update(
            state=FulfilmentState.DELIVERED,
            reason=Reason.NONE,
            delivered_at=UtcNow(),
            next_at=None,
            last_error="",
        )
        if not mine:
            return False
        fulfilment.state = FulfilmentState.DELIVERED
        handler(fulfilment)
        # A query after the handler: had it marked the block for rollback without raising, this
        # raises, and we do not tell a payer "delivered" about what is then undone.
        _event(fulfilment, EventKind.DELIVERED, door, f"attempt {fulfilment.attempts}")
    return True


def _record_failure(fulfilment: Fulfilment, error: Exception, door: Door) -> Outcome:
    """Write a failed attempt down, fenced: if the commit had taken effect after all, 0 rows."""
    text = _clean(fulfilment, f"{type(error).__name__}: {error}")
    reason = _verdict_on(error, fulfilment.attempts)
    state = FulfilmentState.HELD if reason else FulfilmentState.FAILED
    delay = min(conf.backoff * 2 ** (fulfilment.attempts - 1), LONGEST_BACKOFF)
    jitter = random.uniform(1.0, 1.25)  # noqa: S311 - spreads load, guards nothing
    try:
        recorded = _mine(fulfilment).update(
            state=state,
            reason=reason,
            last_error=text,
            next_at=None if reason else from_now(delay * jitter),
        )
        if not recorded:
            return _after_the_fence(fulfilment, text)
        _event(fulfilment, EventKind.HELD if reason else EventKind.DELIVERY_FAILED, door, text)
    except DatabaseError:
        # The lease ends by itself and the sweep takes it from there.
        logger.warning("fulfilment.failure_not_recorded", extra={"error": type(error).__name__})
        return Outcome.DELIVERING
    fulfilment.state, fulfilment.reason, fulfilment.last_error = state, reason, text
    trace = _clean(fulfilment, "".join(traceback.format_exception(error)), limit=5000)
    logger.error(
        "fulfilment.failed: %s: %s",
        fulfilment.transaction.reference,
        trace,
        extra={"attempt": fulfilment.attempts, "state": str(state), "door": str(door)},
    )
    signal = fulfilment_held if reason else fulfilment_failed
    signal.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return outcome_of(fulfilment)


def _after_the_fence(fulfilment: Fulfilment, text: str) -> Outcome:
    """Tell what is true when our failure could not be written: another attempt has the row.

    The commit may also have succeeded and only what came after it failed: an `on_commit` hook
    of the merchant's, or the connection (case C62). Then the value is given.
    """
    current = Fulfilment.objects.primary().get(pk=fulfilment.pk)
    reference = fulfilment.transaction.reference
    if current.state == FulfilmentState.DELIVERED and current.attempts == fulfilment.attempts:
        logger.error("fulfilment.error_after_delivery: %s: %s", reference, text)
        fulfilment.state = FulfilmentState.DELIVERED
        return Outcome.DELIVERED
    logger.warning("fulfilment.fenced_off: %s: %s", reference, text)
    return outcome_of(current)


def _mine(fulfilment: Fulfilment) -> FulfilmentQuerySet:
    return Fulfilment.objects.primary().filter(
        pk=fulfilment.pk, attempts=fulfilment.attempts, state=FulfilmentState.DELIVERING
    )


def _verdict_on(error: Exception, attempts: int) -> Reason:
    if isinstance(error, PermanentFulfilmentError):
        return Reason.PERMANENT_ERROR
    return Reason.ATTEMPTS_SPENT if attempts >= conf.max_attempts else Reason.NONE


def _clean(fulfilment: Fulfilment, text: str, limit: int = 500) -> str:
    key = conf.secret_key
    return redact(
        text,
        (key() if callable(key) else key).strip(),
        fulfilment.transaction.customer_email,
        limit=limit,
    )


def _event(fulfilment: Fulfilment, kind: EventKind, door: Door, detail: str) -> None:
    Event.objects.using(primary_alias(Event)).create(
        reference_key=fulfilment.reference_key, kind=kind, door=door, detail=detail
    )
