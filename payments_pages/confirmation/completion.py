"""Set `delivered` and do the rest of the work in one transaction, and know how that ended.

A database may end a transaction under the code that is in it, and then let what comes next
commit by itself. Whatever the engine, none of these is taken for a delivery:

- It has rolled back, our mark with the rest, and a handler swallowed the error: InnoDB after a
  deadlock, SQLite when the disk is full or a trigger says RAISE(ROLLBACK). We refuse to go on.
- It has committed, our mark with the rest, before the handler's end: DDL on MariaDB and MySQL.
  Nothing shows that before the handler fails, so `at_commit` tells then whether the mark counts.
"""

from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connections
from django.db import transaction as db_transaction

from payments_pages.choices import Door, EventKind, FulfilmentState
from payments_pages.confirmation.handlers import Handler
from payments_pages.confirmation.statements import COMPLETE_FULFILMENT, INSERT_EVENT
from payments_pages.db.transactions import refuse_ended_transaction
from payments_pages.db.transient import tried_again
from payments_pages.exceptions import DeliveryError
from payments_pages.models import Event, Fulfilment, primary_alias
from payments_pages.models.fulfilments import FulfilmentQuerySet

__all__ = ["COMPLETE_WITHIN", "Completion", "ended", "note"]

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

        return tried_again(once, using=primary_alias(Fulfilment), within=within)

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


def ended(fulfilment: Fulfilment, state: FulfilmentState) -> FulfilmentQuerySet:
    """Select the row if this very attempt has ended in a state."""
    return Fulfilment.objects.primary().filter(
        pk=fulfilment.pk, attempts=fulfilment.attempts, state=state
    )


def note(fulfilment: Fulfilment, kind: EventKind, door: Door, detail: str) -> None:
    """Add a line to the reference's timeline."""
    event = Event(reference_key=fulfilment.reference_key, kind=kind, door=door, detail=detail)
    INSERT_EVENT.run(primary_alias(Event), event)
