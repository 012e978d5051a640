"""Histories of leases that are kept or lost, and of attempts that are too late."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from unittest.mock import patch

from payments_pages.choices import Door, FulfilmentState
from payments_pages.confirmation.delivery import deliver, deliver_here
from tests.reliability.histories.stage import OPEN, PAID, Stage, fulfilment_of, told
from tests.reliability.torture import handlers
from tests.reliability.torture.plan import Fate, Payment
from tests.reliability.torture.unguarded import GUARDS, take_guards_away


@contextmanager
def _no_guards() -> Iterator[None]:
    with ExitStack() as kept:
        for module, name in GUARDS:
            kept.enter_context(patch.object(module, name, getattr(module, name)))
        take_guards_away()
        yield  # they are as they were, afterwards


@told("external")
def long_work_renews_its_lease(stage: Stage) -> None:
    handlers.CHANCE_OF_LONG_WORK = 1
    stage.pay(Payment(OPEN, Fate.MUST, {}, {}))
    handlers.CHANCE_OF_LONG_WORK = 0


@told("external")
def long_work_loses_its_lease(stage: Stage) -> None:
    """Another attempt has the delivery by then: the handler stops before it gives anything."""
    row = fulfilment_of(PAID).get()
    handlers.CHANCE_OF_LONG_WORK = 1
    with suppress(RuntimeError):
        handlers.give_external(row)
    handlers.CHANCE_OF_LONG_WORK = 0


@told()
def a_late_attempt_is_fenced_off(stage: Stage) -> None:
    deliver(fulfilment_of(PAID).get(), door=Door.SWEEP)


@told()
def a_late_attempt_meets_no_guard(stage: Stage) -> None:
    with _no_guards():
        deliver(fulfilment_of(PAID).get(), door=Door.SWEEP)


@told()
def rivals_meet_no_guard(stage: Stage) -> None:
    """A lease that holds, and a claim on what was delivered a moment ago, stop nobody."""
    row = fulfilment_of(PAID).get()
    row.state = FulfilmentState.DELIVERING  # as a rival has read it a moment before
    with _no_guards():
        deliver_here(row, due=False, door=Door.SWEEP)
