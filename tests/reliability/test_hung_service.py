"""A service that hangs takes half of a process's threads, and the bulkhead is why not all."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

THREADS = 8
SIZES = [8, 16, 32, 64]
LONG = 60
"""Seconds; longer than the service hangs, so that nothing but the bulkhead ends a wait."""


def get(address: str) -> int:
    try:
        return Client().get(address).status_code
    finally:
        connections.close_all()


@contextmanager
def rush(
    sandbox: Sandbox, configure: Any, places: int | None, size: int = THREADS
) -> Iterator[tuple[list[int], list[Future[int]]]]:
    """Let twice as many payers as threads come back while the service hangs, then as many others.

    `size` threads have served a payer each before. Yield the calls that hang, a growing list, and
    those other requests.
    """
    configure(
        CONNECT_TIMEOUT=LONG,
        READ_TIMEOUT=LONG,
        DEADLINE=LONG,
        MAX_CALLS=places,
        UNKNOWN_PER_ADDRESS=10**6,
        UNKNOWN_IN_ALL=10**6,
    )
    back, hanging = Event(), list[int]()

    def hang() -> None:
        hanging.append(1)
        back.wait(LONG)

    callback = reverse("payments_pages:callback")
    together = threading.Barrier(size)

    def warm(number: int) -> int:
        together.wait(LONG)
        return get(f"{callback}?reference=WARM-{number}")

    with ThreadPoolExecutor(size) as threads:
        assert set(threads.map(warm, range(size))) <= {200, 404}
        sandbox.faults.add(operation="verify", kind="run", function=hang)
        payers = [
            threads.submit(get, f"{callback}?reference=HUNG-{number}") for number in range(2 * size)
        ]
        others = [threads.submit(get, "/admin/login/") for _number in range(2 * size)]
        try:
            yield hanging, others
        finally:
            back.set()
            assert {payer.result() for payer in payers} <= {
                200,
                404,
            }  # not known, or not asked about


@pytest.mark.parametrize("size", SIZES)
def test_others_are_served_while_the_service_hangs(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any, size: int
) -> None:
    """Without `MAX_CALLS`, half of the threads may wait, however many the process has."""
    with rush(sandbox, configure, places=None, size=size) as (hanging, others):
        done, _waiting = wait(others, timeout=30)
        assert len(done) == 2 * size
        assert len(hanging) == size // 2
    assert [other.result() for other in others] == [200] * (2 * size)


def test_max_calls_says_it_otherwise(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    with rush(sandbox, configure, places=3) as (hanging, others):
        done, _waiting = wait(others, timeout=30)
        assert (len(done), len(hanging)) == (16, 3)


def test_without_the_bulkhead_nobody_would_be_served(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    """The control: with a place for each thread, the test above would fail."""
    with rush(sandbox, configure, places=THREADS) as (hanging, others):
        give_up = time.monotonic() + 30
        while len(hanging) < THREADS:
            assert time.monotonic() < give_up
            time.sleep(0.02)
        assert not any(other.done() for other in others)
