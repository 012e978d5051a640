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
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connections
from django.db import transaction as db_transaction

from payments_pages.choices import Door, EventKind, FulfilmentState, Outcome
from payments_pages.conf import conf
from payments_pages.confirmation.failed_delivery import (
    clean_error,
    log_error_after_delivery,
    log_facts,
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
from payments_pages.confirmation.timeline import note
from payments_pages.db import refuse_ended_transaction, retry_transient
from payments_pages.exceptions import DeliveryError
from payments_pages.models import Fulfilment, primary_alias
from payments_pages.signals import fulfilment_delivered

__all__ = ["COMPLETE_WITHIN", "Completion", "deliver", "deliver_here"]


logger = logging.getLogger("payments_pages.fulfilment")


COMPLETE_WITHIN = 2.0
"""Seconds after which a delivery that the database undid is left to the sweep, not tried again."""


@dataclass(slots=True)
class Completion:
    """Complete one attempt's delivery.

    `at_commit`: the last transaction that held the mark came to its own commit. `after`: the
    passing error that came after a commit which took effect all the same.
    """

    fulfilment: Fulfilment
    door: Door
    at_commit: bool = False
    after: Exception | None = None

    def run(self, work: Handler, *, within: float = COMPLETE_WITHIN) -> bool:
        """Complete, again after a passing error; a commit whose answer was lost counts.

        False: a later attempt has fenced this one off, and `work` did not run.
        """
        passing: list[Exception] = []

        def once(number: int) -> bool:
            self.fulfilment.state = FulfilmentState.DELIVERING
            try:
                return self._complete(work) or (number > 0 and self._is_found(passing[-1]))
            except (DatabaseError, InterfaceError) as error:
                passing.append(error)
                raise

        return retry_transient(once, using=primary_alias(Fulfilment), within=within)

    def _complete(self, work: Handler) -> bool:
        """Set `delivered` under the claim and do the rest; both commit or neither does."""
        fulfilment, using = self.fulfilment, primary_alias(Fulfilment)
        with db_transaction.atomic(using=using, durable=True):
            # `claimed(fulfilment)` by name: the fence is the first statement of its transaction.
            mine = COMPLETE_FULFILMENT.run(using, pk=fulfilment.pk, attempt=fulfilment.attempts)
            if not mine:
                return False
            self.at_commit = False
            fulfilment.state = FulfilmentState.DELIVERED
            with refuse_ended_transaction(using):
                work(fulfilment)
                if connections[using].vendor == "mysql":
                    # A deadlock rolls InnoDB's whole transaction back, our mark with it, and lets
                    # what comes next commit: a handler that swallowed it would be run again.
                    self._refuse_lost_mark()
                # A query after the handler: had it marked the block for rollback without raising,
                # this raises, and we do not tell a payer "delivered" about what is then undone.
                note(fulfilment, EventKind.DELIVERED, self.door, f"attempt {fulfilment.attempts}")
            self.at_commit = True
        return True

    def _is_found(self, error: Exception) -> bool:
        """Say whether an earlier try has taken effect: a commit may do so and not be answered."""
        if not ended(self.fulfilment, FulfilmentState.DELIVERED).exists():
            return False
        if not self.at_commit:
            raise DeliveryError("The database has committed under the handler.") from error
        self.after = error
        return True

    def _refuse_lost_mark(self) -> None:
        if not ended(self.fulfilment, FulfilmentState.DELIVERED).exists():
            raise DeliveryError("The database has rolled the delivery back under the handler.")


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
        outcome = record_failure(fulfilment, error, door, at_commit=completion.at_commit)
    else:
        outcome = Outcome.DELIVERED if given else Outcome.DELIVERING
        if not given:
            logger.warning(
                "fulfilment.fenced_off: %s: attempt %s came too late",
                fulfilment.transaction.reference,
                fulfilment.attempts,
                extra=log_facts(fulfilment, door),
            )
    if completion.after is not None:
        late = completion.after
        log_error_after_delivery(
            fulfilment, clean_error(fulfilment, f"{type(late).__name__}: {late}"), door
        )
    if outcome is Outcome.DELIVERED:
        logger.info(
            "fulfilment.delivered: %s: attempt %s",
            fulfilment.transaction.reference,
            fulfilment.attempts,
            extra=log_facts(fulfilment, door),
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
