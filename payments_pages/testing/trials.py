"""Rushes, crashes and sweeps that a merchant's handler must survive, and the check of the result."""

import datetime as dt
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

from django.db import connections
from django.db.models import F, QuerySet

from payments_pages.choices import Door, EventKind, FulfilmentState, Outcome
from payments_pages.client import BREAKER_PAUSE, GATES
from payments_pages.conf import conf
from payments_pages.confirmation import (
    SweepReport,
    confirm_payment,
    find_transaction,
    load_handler,
    sweep_due,
)
from payments_pages.db import retry_transient
from payments_pages.models import Event, Fulfilment, PaymentPage, Verification, primary_alias
from payments_pages.references import reference_key
from payments_pages.testing.sites import configured

__all__ = [
    "assert_delivered_once",
    "deliver_after_crash",
    "let_time_pass",
    "run_sweep",
    "rush",
    "work_then_crash",
]

AGAIN = 40
"""Tries of a caller who is told to come again, as often happens with a database in memory."""


PAUSE = 0.05


def rush(reference: str, *, times: int = 8, page: PaymentPage | None = None) -> list[Outcome]:
    """Confirm a reference `times` times at the same moment; return the outcome of each.

    Each runs in a thread with a connection of its own, and repeats an `UNAVAILABLE` a few times.
    `page` is the page whose callback they come back by. Raise `RuntimeError` inside a transaction,
    where other connections see nothing: use a `TransactionTestCase` or `django_db(transaction=True)`.
    An error that `confirm_payment` raises in any thread is raised here.
    """
    if connections[primary_alias(Fulfilment)].in_atomic_block:
        raise RuntimeError(
            "rush() needs committed rows that other connections can see: use TransactionTestCase, "
            "or pytest.mark.django_db(transaction=True)."
        )
    start = threading.Barrier(times)
    with ThreadPoolExecutor(max_workers=times) as pool:
        runs = [pool.submit(_confirm, reference, page, start) for _number in range(times)]
        return [run.result() for run in runs]


def _confirm(reference: str, page: PaymentPage | None, start: threading.Barrier) -> Outcome:
    start.wait(timeout=30)
    try:
        outcome = Outcome.UNAVAILABLE
        for _try in range(AGAIN):
            found = confirm_payment(
                reference,
                door=Door.CALLBACK,
                page_token=None if page is None else page.token,
                deliver_now=True,
            )
            outcome = found.outcome
            if outcome is not Outcome.UNAVAILABLE:
                break
            time.sleep(PAUSE)
        return outcome
    finally:
        _close_connections()


def _close_connections() -> None:
    """Close this thread's connections, also one to a database in memory, which Django keeps open."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if connection.connection is not None:
            connection.connection.close()


_handler: ContextVar[str] = ContextVar("handler")


class _Crash(BaseException):
    """The end of a run as by a kill: nothing catches it and writes to the database."""


def work_then_crash(fulfilment: Fulfilment) -> None:
    """Run the site's own handler, then crash. It replaces `HANDLER` for one run."""
    with configured(HANDLER=_handler.get()):
        handler = load_handler()
    handler(fulfilment)
    raise _Crash


def deliver_after_crash(reference: str, *, page: PaymentPage | None = None) -> Outcome:
    """Crash when the handler has returned, then let the sweep deliver; return the outcome.

    The crash is simulated: the handler's transaction is rolled back, nothing is saved about the
    attempt, and its lease runs out.

    What the handler wrote to the same database is rolled back, so an atomic handler delivers once.
    What it did elsewhere – an e-mail, a call, another database – is done, and is done again with
    the same `fulfilment.idempotency_key`: count it afterwards. Raise `AssertionError` if the
    handler did not return, because then nothing was tested.
    """
    found = None
    token = _handler.set(conf.handler)
    try:
        with configured(HANDLER=f"{__name__}.{work_then_crash.__name__}"):
            found = confirm_payment(
                reference,
                door=Door.CALLBACK,
                page_token=None if page is None else page.token,
                deliver_now=True,
            )
    except _Crash:
        pass
    finally:
        _handler.reset(token)
    if found is not None:
        raise AssertionError(f"The handler did not return for {reference}: {found.outcome}.")
    run_sweep(after=conf.lease + 1)
    return confirm_payment(reference, door=Door.CALLBACK).outcome


def let_time_pass(seconds: float) -> None:
    """Move the times of all waiting rows back, as if so many seconds had passed.

    Leases end, later tries become due, and a breaker lets a call through again.
    """
    gone = dt.timedelta(seconds=seconds)
    asks = Verification.objects.using(primary_alias(Verification))
    deliveries = Fulfilment.objects.using(primary_alias(Fulfilment))
    moves = (
        lambda _number: asks.update(
            next_at=F("next_at") - gone,
            asked_at=F("asked_at") - gone,
            created_at=F("created_at") - gone,
            named_at=F("named_at") - gone,
            signed_success_at=F("signed_success_at") - gone,
        ),
        lambda _number: deliveries.update(next_at=F("next_at") - gone),
    )
    for move in moves:
        # PostgreSQL at serializable may undo what nobody else has touched.
        retry_transient(move, using=primary_alias(Fulfilment))
    if seconds >= BREAKER_PAUSE:
        GATES.forget()


def run_sweep(*, after: float = 0) -> SweepReport:
    """Sweep once, as `payments_pages_sweep` does, `after` so many seconds; return its counts."""
    if after:
        let_time_pass(after)
    return sweep_due()


def assert_delivered_once(
    reference: str, rows: QuerySet[Any] | Callable[[], int] | None = None
) -> None:
    """Raise `AssertionError`, with the reason in words, unless a reference was delivered once.

    `rows` is what your customer got: a queryset of your own rows, or a function that returns how
    many there are. Without it only our own rows are checked, and they look the same if a handler
    swallows its own error and delivers nothing.
    """
    key = reference_key(reference)
    found = find_transaction(key)
    if found is None:
        raise AssertionError(f"{reference} has no transaction: was it confirmed?")
    fulfilment = found.fulfilment
    if fulfilment is None:
        status = found.transaction.status
        raise AssertionError(f"{reference} is not paid: its status is {status!r}.")
    if fulfilment.state != FulfilmentState.DELIVERED:
        why = fulfilment.get_reason_display() if fulfilment.reason else fulfilment.last_error
        raise AssertionError(f"{reference} is {fulfilment.state}, not delivered: {why}")
    told = Event.objects.primary().filter(reference_key=key, kind=EventKind.DELIVERED).count()
    if told != 1:
        raise AssertionError(f"{reference} was delivered {told} times.")
    if rows is None:
        return
    count = rows() if callable(rows) else rows.count()
    if count != 1:
        raise AssertionError(f"{reference} is delivered, but {count} rows were counted for it.")
