"""Eight processes of four threads confirm one reference at the same moment, over real HTTP."""

import os
from collections import Counter
from typing import Any

import pytest

from payments_pages.choices import FulfilmentState, Outcome
from payments_pages.confirmation import sweep_due
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.reliability.races.conftest import PROCESSES, Team
from tests.support.goods.models import Good

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

THREADS = 4
CALLS = PROCESSES * THREADS
CALM = {
    Outcome.DELIVERED, Outcome.ALREADY_DELIVERED, Outcome.DELIVERING, Outcome.PENDING,
    # There the server may undo a rival each time that it tries (docs/torture.md).
    *([Outcome.UNAVAILABLE] if os.environ.get("TESTS_ISOLATION") == "serializable" else []),
}  # fmt: skip


def rush(team: Team, page: PaymentPage, reference: str, **more: Any) -> Counter[str]:
    """The outcomes of all callers; an error of any of them fails the test."""
    rows = team.race(reference=reference, token=str(page.token), threads=THREADS, **more)
    assert [row["error"] for row in rows if "error" in row] == []
    assert len(rows) == CALLS
    return Counter(row["outcome"] for row in rows)


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_many_processes_on_one_reference_deliver_once(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox, seconds: float
) -> None:
    reference = sandbox.pay("tea-box")
    if seconds:
        sandbox.faults.add(operation="verify", kind="latency", seconds=seconds)
    outcomes = rush(team, tea_box, reference)
    assert set(outcomes) <= CALM
    assert outcomes[Outcome.DELIVERED] == 1
    assert Good.objects.filter(reference=reference).count() == 1
    assert sandbox.verify_calls(reference) == 1
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED
    assert Transaction.objects.count() == Verification.objects.count() == 1
    kinds = Counter(Event.objects.values_list("kind", flat=True))
    assert kinds == {"verified": 1, "accepted": 1, "delivered": 1}


def test_a_slow_handler_is_not_run_twice(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box")
    outcomes = rush(
        team, tea_box, reference, settings={"HANDLER": "tests.support.goods.handlers.slow"}
    )
    assert set(outcomes) <= CALM
    assert outcomes[Outcome.DELIVERED] == 1
    assert Good.objects.count() == 1


def test_rivals_for_a_payment_that_becomes_paid_deliver_once(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """The rows are there already: all start at the claim, none at the insert."""
    reference = sandbox.pay("tea-box", status="pending")
    assert set(rush(team, tea_box, reference)) == {Outcome.PENDING}
    assert sandbox.verify_calls(reference) == 1
    sandbox.set_transaction(reference, status="success")
    let_time_pass(61)
    outcomes = rush(team, tea_box, reference)
    assert outcomes[Outcome.DELIVERED] == 1
    assert set(outcomes) <= CALM
    assert Good.objects.count() == 1
    assert sandbox.verify_calls(reference) == 2


def test_rivals_for_a_failed_delivery_deliver_once(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box")
    broken = {"HANDLER": "tests.support.goods.handlers.fail_always"}
    outcomes = rush(team, tea_box, reference, settings=broken)
    assert set(outcomes) <= {Outcome.DELIVERY_FAILED, Outcome.DELIVERING, Outcome.PENDING}
    assert not Good.objects.exists()
    assert Fulfilment.objects.get().state == FulfilmentState.FAILED
    let_time_pass(3600)
    outcomes = rush(team, tea_box, reference)
    assert outcomes[Outcome.DELIVERED] == 1
    assert set(outcomes) <= CALM
    assert Good.objects.count() == 1
    assert sandbox.verify_calls(reference) == 1


def test_with_the_guard_turned_off_the_same_race_delivers_twice_or_more(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """The control: were this race unable to show doubles, the tests above would prove nothing."""
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="latency", seconds=0.3)
    rush(team, tea_box, reference, way="naive")
    assert Good.objects.filter(reference=reference).count() > 1
    assert sandbox.verify_calls(reference) > 1


def test_sweeps_and_doors_at_once_deliver_once(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="status", status=503)
    assert set(rush(team, tea_box, reference)) == {Outcome.UNAVAILABLE}
    sandbox.faults.clear()
    calls = sandbox.verify_calls(reference)
    assert calls <= 2, "one caller asked; it may have asked twice"
    let_time_pass(60)
    for worker in team.workers:
        worker.begin({"reference": reference, "threads": THREADS})
    sweep_due()
    rows = [row for worker in team.workers for row in worker.finish()["rows"]]
    assert {row.get("outcome") for row in rows} <= CALM
    assert Good.objects.count() == 1
    assert sandbox.verify_calls(reference) == calls + 1
