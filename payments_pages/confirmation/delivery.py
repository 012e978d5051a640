"""Run the handler under a claim, and complete the delivery: at most once in each attempt.

`HANDLER_ATOMIC` chooses between two kinds of handler:

- Atomic (the default). In one transaction, the *first* statement sets the state `delivered` under
  the claim, and the handler then writes on the same connection. Both are committed or neither is,
  so what the handler writes there is written exactly once.
- External. The handler runs under the lease, with no transaction of ours open; after it the state
  `delivered` is set under the claim. The handler runs at least once, and never twice at the same
  time within one lease. After a crash or the end of the lease it runs again, with the same
  `idempotency_key`. It must make its call idempotent by this key.

A database may end a transaction while our code still runs inside it; later statements are then
committed one by one. This must not count as a delivery:

- The database has rolled back, also our state `delivered`, and the handler ignored the error.
  InnoDB does so after a deadlock, SQLite if the disk is full or a trigger says RAISE(ROLLBACK).
  We refuse to go on.
- The database has committed, also our state `delivered`, before the handler returned. A DDL
  statement on MariaDB and MySQL does so. We notice it only if the handler raises an error:
  `Failed.at_commit` then says whether the state `delivered` is right.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError
from django.db import transaction as db_transaction

from payments_pages.choices import Door, FulfilmentState, Outcome
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
from payments_pages.confirmation.timeline import Line, append_delivery
from payments_pages.db import RETRY_WITHIN, refuse_ended_transaction, retry_transient
from payments_pages.exceptions import DeliveryError
from payments_pages.models import Fulfilment, primary_alias
from payments_pages.signals import fulfilment_delivered

__all__ = ["Completed", "Failed", "Result", "deliver", "deliver_here", "work_under_mark"]


logger = logging.getLogger("payments_pages.fulfilment")


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of an attempt that delivered. `late_error` was raised after its commit, if any."""

    late_error: Exception | None = None


@dataclass(frozen=True, slots=True)
class FencedOff:
    """The result of an attempt that changed nothing, because a later attempt has the delivery."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The result of an attempt that raised `error`.

    `at_commit`: its last transaction that set the state `delivered` had reached its own commit.
    """

    error: Exception
    at_commit: bool


Result = Completed | FencedOff | Failed


def deliver_here(fulfilment: Fulfilment, *, due: bool, door: Door) -> Outcome:
    """Claim the delivery and run the handler if it is open; return the outcome.

    - A rival has just begun to deliver: wait for it for a short time; a sweep does not wait.
    - Another transaction has locked the row: return `DELIVERING` at once.
    - The delivery is not open: return what its state says.

    `due` says that `next_at` has passed, by the database's clock.
    """
    if is_claimable(fulfilment, due=due):
        mine = claim(fulfilment)
        if mine is None:
            return Outcome.DELIVERING
        if mine:
            return deliver(fulfilment, door=door)
    elif fulfilment.state != FulfilmentState.DELIVERING:
        return outcome_of(fulfilment)
    return await_delivery(fulfilment, patient=door is not Door.SWEEP)


def deliver(fulfilment: Fulfilment, *, door: Door, result: Result | None = None) -> Outcome:
    """Run the handler under the claim that `fulfilment.attempts` stands for.

    `result` is that of the attempt if it was made already, with the record (`first_delivery`).

    Return one of these outcomes:

    - `DELIVERED`.
    - `DELIVERING`: a later attempt has the delivery, and this one changed nothing; or it is not
      known whether the commit took effect.
    - `DELIVERY_FAILED`: the handler raised an error. An atomic handler's writes were rolled back.
      The error is recorded, and the next attempt is due after a delay that doubles up to an hour.
    - `HELD`: the same, but there will be no further attempt before staff decide.
    """
    if result is None:
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
    """Set `delivered` and run the handler in one transaction; not if a later attempt has begun."""
    try:
        handler = load_handler()
    except Exception as error:  # noqa: BLE001 - an import of the merchant's code may raise anything
        return Failed(error, at_commit=False)
    return _complete(fulfilment, handler, door, within=RETRY_WITHIN)


def _give_outside(fulfilment: Fulfilment, door: Door) -> Result:
    """Run the handler with no transaction open, then complete.

    If the lease has already ended, the handler is not called, because a later attempt may be
    running it. If the lease ends while the handler runs, the result of the later attempt counts.
    """
    try:
        handler = load_handler()
        if not renew_lease(fulfilment):
            return FencedOff()
        handler(fulfilment)
    except Exception as error:  # noqa: BLE001 - the merchant's code may raise anything
        return Failed(error, at_commit=False)
    # The value is given, only the state is missing. Without it the handler would run again, so
    # each error is retried, however long it took.
    return _complete(fulfilment, lambda _fulfilment: None, door, within=math.inf)


def _complete(fulfilment: Fulfilment, work: Handler, door: Door, *, within: float) -> Result:
    """Set `delivered` under the claim and do the work in one transaction; return the result.

    A short-lived database error is retried if it took no longer than `within` seconds. If the
    answer to a commit was lost, the next try sees that the commit took effect.
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
                # The condition is that of `claimed(fulfilment)`. It must be the first statement of
                # its transaction.
                if COMPLETE_FULFILMENT.run(using, pk=fulfilment.pk, attempt=fulfilment.attempts):
                    at_commit = False
                    work_under_mark(fulfilment, work, door)
                    at_commit = True
                    return True
            # The commit of an earlier try may have taken effect although its answer was lost.
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


def work_under_mark(
    fulfilment: Fulfilment,
    work: Handler,
    door: Door,
    *,
    lines: Sequence[Line] = (),
    actor: str = "",
) -> None:
    """Do the work after `delivered` was set, and make sure that this is still set at the end.

    Must be called in the transaction that has set it. The `lines` of the timeline are about the
    record of the payment, if it is made in this transaction, too.
    """
    fulfilment.state = FulfilmentState.DELIVERED
    with refuse_ended_transaction(primary_alias(Fulfilment)):
        work(fulfilment)
        # The handler may have undone our state, or the database has: after a deadlock InnoDB has
        # rolled back the whole transaction, and commits what follows. If the handler ignored the
        # error, the next attempt would run it again. The line is refused if the state is gone.
        # This query comes after the handler. If the handler marked the block for rollback without
        # an error, it raises one: otherwise a payer would read "delivered", and all is undone.
        if not append_delivery(fulfilment, door=door, before=lines, actor=actor):
            raise DeliveryError('The state "delivered" was undone under the handler.')


def _is_marked(fulfilment: Fulfilment) -> bool:
    return ended(fulfilment, FulfilmentState.DELIVERED).exists()
