"""Confirm one reference many times at once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from django.db import connections

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation.confirm import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, primary_alias

__all__ = ["rush"]

AGAIN = 40
"""Tries of one who is told to come again; a database in memory turns many away at once."""
PAUSE = 0.05


def rush(reference: str, *, times: int = 8, page: PaymentPage | None = None) -> list[Outcome]:
    """Confirm a reference `times` times at the same moment; return what each was told at last.

    Each has a thread and a connection of its own; who is told to come again does so, a few times.
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
    """Close this thread's connections, one to a database in memory too, which Django keeps."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if connection.connection is not None:
            connection.connection.close()
