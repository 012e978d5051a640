"""Run the handler under a claim, and complete the delivery: at most once for each attempt.

Two kinds of handler, by `HANDLER_ATOMIC`:

- Atomic (the default). One transaction, whose *first* statement sets `delivered` under the claim;
  the handler's writes follow on the same connection. Both commit or neither does: exactly once
  for what the handler writes there.
- External. The handler runs under the lease with no transaction of ours open; then `delivered`
  is set under the claim. At least once, never with another `idempotency_key`, and never twice at
  the same time while the lease holds: after a crash or an ended lease it runs again, with the
  same key. Make the call idempotent on that key.

A database may end a transaction under the code that is in it, and then let what comes next
commit by itself. Whatever the engine, none of these is taken for a delivery:

- It has rolled back, our mark with the rest, and a handler swallowed the error: InnoDB after a
  deadlock, SQLite when the disk is full or a trigger says RAISE(ROLLBACK). We refuse to go on.
- It has committed, our mark with the rest, before the handler's end: DDL on MariaDB and MySQL.
  Nothing shows that before the handler fails; `Failed.at_commit` then says whether the mark counts.
"""

import logging
import math
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connections
from django.db import transaction as db_transaction

from payments_pages.choices import Door, EventKind, FulfilmentState, Outcome
from payments_pages.conf import conf
from payments_pages.confirmation.failed_delivery import (
    log_error_after_delivery,
    log_facts,
    name_error,
    record_failure,
)
from payments_pages.confirmation.fulfilment import (
    await_delivery,
    claim,
    ended,
    is_claimable,
    renew_lease,
)
from payments_pages.confirmation.handlers import Handler, load_handler
from payments_pages.confirmation.outcomes import outcome_of
from payments_pages.confirmation.statements import COMPLETE_FULFILMENT
from payments_pages.confirmation.timeline import append_to_timeline
from payments_pages.db import refuse_ended_transaction, retry_transient
from payments_pages.exceptions import DeliveryError
from payments_pages.models import Fulfilment, primary_alias
from payments_pages.signals import fulfilment_delivered

__all__ = ["COMPLETE_WITHIN", "deliver", "deliver_here"]


logger = logging.getLogger("payments_pages.fulfilment")


COMPLETE_WITHIN = 2.0
"""Seconds after which a delivery that the database undid is left to the sweep, not tried again."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The value was given. `late_error` came after the commit, which took effect all the same."""

    late_error: Exception | None = None


@dataclass(frozen=True, slots=True)
class FencedOff:
    """A later attempt has the delivery; this one changed nothing."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt raised an error.

    `at_commit`: its last transaction that held the mark had come as far as its own commit.
    """

    error: Exception
    at_commit: bool


Result = Completed | FencedOff | Failed


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
    result = give(fulfilment, door)
    if isinstance(result, Failed):
        fulfilment.state = FulfilmentState.DELIVERING
        outcome = record_failure(fulfilment, result.error, door, at_commit=result.at_commit)
    elif isinstance(result, FencedOff):
        outcome = Outcome.DELIVERING
        logger.warning(
            "fulfilment.fenced_off: %s: attempt %s came too late",
            fulfilment.transaction.reference,
            fulfilment.attempts,
            extra=log_facts(fulfilment, door),
        )
    else:
        outcome = Outcome.DELIVERED
        if result.late_error is not None:
            text = name_error(fulfilment, result.late_error)
            log_error_after_delivery(fulfilment, text, door)
    if outcome is Outcome.DELIVERED:
        logger.info(
            "fulfilment.delivered: %s: attempt %s",
            fulfilment.transaction.reference,
            fulfilment.attempts,
            extra=log_facts(fulfilment, door),
        )
        fulfilment_delivered.send_robust(sender=Fulfilment, fulfilment=fulfilment)
    return outcome


def _give_inside(fulfilment: Fulfilment, door: Door) -> Result:
    """Complete and run the handler in one transaction; fenced off, the handler does not run."""
    try:
        handler = load_handler()
    except Exception as error:  # noqa: BLE001 - an import of the merchant's code may raise anything
        return Failed(error, at_commit=False)
    return _complete(fulfilment, handler, door, within=COMPLETE_WITHIN)


def _give_outside(fulfilment: Fulfilment, door: Door) -> Result:
    """Run the handler with no transaction open, then complete.

    If the lease has ended before the handler is called, it is not called: a later attempt may be
    running it. If the lease ends while it runs, the later attempt's result counts.
    """
    try:
        handler = load_handler()
        if not renew_lease(fulfilment):
            return FencedOff()
        handler(fulfilment)
    except Exception as error:  # noqa: BLE001 - the merchant's code may raise anything
        return Failed(error, at_commit=False)
    # The work is done; only its record is missing. Each try spares a second call.
    return _complete(fulfilment, lambda _fulfilment: None, door, within=math.inf)


def _complete(fulfilment: Fulfilment, work: Handler, door: Door, *, within: float) -> Result:
    """Set `delivered` under the claim and do the work in one transaction, and tell how it ended.

    After a short-lived database error it is tried again; a commit whose answer was lost counts.
    """
    using = primary_alias(Fulfilment)
    at_commit = False
    earlier: Exception | None = None
    late_error: Exception | None = None

    def once(number: int) -> bool:
        nonlocal at_commit, earlier, late_error
        fulfilment.state = FulfilmentState.DELIVERING
        try:
            with db_transaction.atomic(using=using, durable=True):
                # `claimed(fulfilment)` by name: the fence is the first statement of its transaction.
                if COMPLETE_FULFILMENT.run(using, pk=fulfilment.pk, attempt=fulfilment.attempts):
                    at_commit = False
                    _work_under_mark(fulfilment, work, door, using)
                    at_commit = True
                    return True
            # An earlier try may have taken effect although its commit was not answered.
            if number == 0 or not _is_marked(fulfilment):
                return False
            if not at_commit:
                raise DeliveryError("The database has committed under the handler.") from earlier
            late_error = earlier
        except (DatabaseError, InterfaceError) as error:
            earlier = error
            raise
        return True

    try:
        mine = retry_transient(once, using=using, within=within)
    except Exception as error:  # noqa: BLE001 - the merchant's code may raise anything
        return Failed(error, at_commit)
    return Completed(late_error) if mine else FencedOff()


def _work_under_mark(fulfilment: Fulfilment, work: Handler, door: Door, using: str) -> None:
    """Do the work after the mark, and make sure that the mark is still there at the end."""
    fulfilment.state = FulfilmentState.DELIVERED
    with refuse_ended_transaction(using):
        work(fulfilment)
        # A deadlock rolls InnoDB's whole transaction back, our mark with it, and lets what comes
        # next commit: a handler that swallowed the error would be run again.
        if connections[using].vendor == "mysql" and not _is_marked(fulfilment):
            raise DeliveryError("The database has rolled the delivery back under the handler.")
        # A query after the handler: had it marked the block for rollback without raising,
        # this raises, and we do not tell a payer "delivered" about what is then undone.
        line = (EventKind.DELIVERED, f"attempt {fulfilment.attempts}")
        append_to_timeline(fulfilment.reference_key, line, door=door)


def _is_marked(fulfilment: Fulfilment) -> bool:
    return ended(fulfilment, FulfilmentState.DELIVERED).exists()
