"""Hundreds of visits, good and bad, leave no thread, open file or connection behind."""

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.goods.models import Good

FILES = Path("/proc/self/fd")
THREADS = 4
PAYERS = 40
FAULTS: list[dict[str, Any]] = [
    {"kind": "status", "status": 503},
    {"kind": "html"},
    {"kind": "drop", "reset": True},
    {"kind": "truncated"},
]

pytestmark = [
    pytest.mark.race,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not FILES.exists(), reason="only Linux tells which files are open"),
]


def visit(reference: str) -> int:
    """Come back twice by the callback, as an impatient payer does."""
    page = PaymentPage.objects.get()
    address = f"{reverse('payments_pages:page-callback', args=[page.token])}?reference={reference}"
    return max(Client().get(address).status_code for _time in range(2))


def rush(sandbox: Sandbox, label: str) -> None:
    """Let payers come through a web server's few threads, then some on whom the service fails."""
    paid = [sandbox.pay("tea-box", reference=f"{label}-{number}") for number in range(PAYERS)]
    with ThreadPoolExecutor(THREADS) as web:
        answers = list(web.map(visit, paid))
        for fault in FAULTS:
            sandbox.faults.add(operation="verify", times=2, **fault)
            answers += web.map(visit, (f"{label}-{fault['kind']}-{n}" for n in range(3)))
            sandbox.faults.clear()
        everybody = threading.Barrier(THREADS)  # each thread closes its own, as Django does
        list(web.map(lambda _n: (everybody.wait(30), connections.close_all()), range(THREADS)))
    assert max(answers) < 500


def what_is_open() -> dict[str, int]:
    gc.collect()
    return {"threads": threading.active_count(), "files": len(list(FILES.iterdir()))}


def test_no_thread_file_or_connection_is_left_open(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(UNKNOWN_PER_ADDRESS=10**6, UNKNOWN_IN_ALL=10**6, MAX_CALLS=THREADS)
    rush(sandbox, "WARM-UP")
    before = what_is_open()
    for number in range(4):
        rush(sandbox, f"RUSH-{number}")
    give_up = time.monotonic() + 10  # the sandbox's threads see a moment later that a line is gone
    while (
        any(now > before[name] for name, now in what_is_open().items())
        and time.monotonic() < give_up
    ):
        time.sleep(0.1)
    after = what_is_open()
    assert after["threads"] <= before["threads"]
    assert after["files"] <= before["files"]
    assert Good.objects.count() == 5 * PAYERS
