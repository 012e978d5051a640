"""Sweeps that run at the same time share a backlog: none waits for another, none asks twice.

The time of a run is printed (`pytest -s`); docs/capacity.md has the figures of 120 payments and an
answer after 0.2 seconds: `SWEEPS_DUE=120 SWEEPS_ANSWER=0.2`.
"""

import os
import threading
import time
from collections import Counter
from typing import Any

import pytest

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.signals import transaction_confirmed
from payments_pages.testing import let_time_pass
from tests.reliability.races.conftest import Team
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

DUE = int(os.environ.get("SWEEPS_DUE", "30"))
ANSWER = float(os.environ.get("SWEEPS_ANSWER", "0.1"))


@pytest.fixture
def backlog(tea_box: PaymentPage, sandbox: Sandbox) -> list[str]:
    """Payers who came an hour ago, before their payments were through; a slow service."""
    references = [pay(sandbox, status="pending") for _number in range(DUE)]
    for reference in references:
        confirm_payment(reference, door=Door.CALLBACK)
        sandbox.set_transaction(reference, status="success")
    let_time_pass(3600)
    sandbox.faults.add(kind="latency", operation="verify", seconds=ANSWER)
    return references


@pytest.mark.parametrize("sweeps", [1, 3])
def test_s05_sweeps_share_a_backlog(
    team: Team, backlog: list[str], sandbox: Sandbox, sweeps: int
) -> None:
    asked = sandbox.verify_calls()
    began = time.monotonic()
    for worker in team.workers[:sweeps]:
        worker.begin({"way": "sweep"})
    rows = [row for worker in team.workers[:sweeps] for row in worker.finish()["rows"]]
    print(f"{sweeps} sweeps, {DUE} due: {time.monotonic() - began:.1f} s")
    counts = [row["outcome"].get(Outcome.DELIVERED, 0) for row in rows]
    assert sum(counts) == DUE == Good.objects.count()
    assert sandbox.verify_calls() == asked + DUE, "nothing is asked about twice"
    assert min(counts) >= DUE / sweeps / 2, counts


def test_s05_the_threads_of_one_sweep_share_a_backlog(
    backlog: list[str], sandbox: Sandbox, configure: Any
) -> None:
    asked = sandbox.verify_calls()
    began = time.monotonic()
    seen: list[int] = []
    threads: Counter[int] = Counter()

    def count(**_named: Any) -> None:
        threads[threading.get_ident()] += 1

    transaction_confirmed.connect(count)
    try:
        report = sweep_due(jobs=3, progress=lambda report: seen.append(report.taken))
    finally:
        transaction_confirmed.disconnect(count)
    print(f"3 jobs, {DUE} due: {time.monotonic() - began:.1f} s")
    assert report.outcomes == {Outcome.DELIVERED: DUE}
    assert sandbox.verify_calls() == asked + DUE
    assert seen == list(range(1, DUE + 1))
    assert len(threads) == 3, threads
    assert min(threads.values()) >= DUE / 3 / 2, threads
