"""Processes are killed with SIGKILL at every point of the path; the sweep finishes their work."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.db import foreign_keys_lock
from payments_pages.models import Fulfilment, PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.reliability.races.worker import Worker
from tests.support.goods.models import Good

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

HOUR = 3600
MOST_STATEMENTS = 30


def once(reference: str) -> bool:
    """Say whether all is over and well: delivered, and the goods are there once."""
    row = Fulfilment.objects.get(transaction__reference=reference)
    goods = Good.objects.filter(reference=reference).count()
    return row.state == FulfilmentState.DELIVERED and goods == 1


def sweep_to_the_end() -> None:
    for _round in range(3):
        let_time_pass(2 * HOUR)
        report = sweep_due()
        assert report.errors == 0
    let_time_pass(12 * HOUR)
    assert sweep_due().taken == 0, "nothing is left to do"


def test_c12_killed_inside_the_handler_it_is_delivered_after_the_lease(
    worker: Worker, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.die_first", LEASE=30)
    reference = sandbox.pay("tea-box")
    answer = worker.run(reference=reference, token=str(tea_box.token))
    assert answer["killed"] == signal.SIGKILL
    assert not Good.objects.exists(), "what the dead process wrote was never committed"
    # Of an attempt in the record nothing is left: the service is asked again.
    kept = Fulfilment.objects.filter(state=FulfilmentState.DELIVERING).count()
    assert kept == foreign_keys_lock(connection.alias)
    assert sweep_due().taken == 0, "the lease still holds"
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert once(reference)
    assert Fulfilment.objects.get().attempts == 1 + kept
    assert sandbox.verify_calls(reference) == 2 - kept


def test_killed_between_record_and_delivery_the_sweep_delivers(
    worker: Worker, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """At a second ask: at the first, record and delivery are one transaction."""
    reference = sandbox.pay("tea-box", status="pending")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    sandbox.set_transaction(reference, status="success")
    let_time_pass(61)
    answer = worker.run(
        reference=reference,
        token=str(tea_box.token),
        die_on=f"UPDATE {connection.ops.quote_name(Fulfilment._meta.db_table)}",
    )
    assert answer["killed"] == signal.SIGKILL
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERING
    sweep_to_the_end()
    assert once(reference)
    assert sandbox.verify_calls(reference) == 2


def test_killed_while_the_service_is_asked_the_sweep_asks_again(
    worker: Worker, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="hang", seconds=30, times=1)
    worker.begin({"reference": reference, "token": str(tea_box.token)})
    while not sandbox.verify_calls(reference):
        time.sleep(0.01)
    os.kill(_child_of(worker), signal.SIGKILL)
    assert worker.finish()["killed"] == signal.SIGKILL
    row = Verification.objects.get()
    assert (row.state, row.attempts) == ("verifying", 1)
    assert not Fulfilment.objects.exists()
    sweep_to_the_end()
    assert once(reference)
    assert sandbox.verify_calls(reference) == 2


def test_killed_at_any_statement_it_is_delivered_once_by_the_sweep(
    worker: Worker, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Each point in turn, until the run survives: every statement of the path is one of them."""
    survived = 0
    references: list[str] = []
    for number in range(1, MOST_STATEMENTS):
        reference = sandbox.pay("tea-box", reference=f"KILLED-{number}")
        answer = worker.run(reference=reference, token=str(tea_box.token), die_at=number)
        if not answer["killed"]:
            assert answer["rows"][0]["outcome"] == Outcome.DELIVERED
            survived = number
            break
        assert Good.objects.filter(reference=reference).count() == 0
        references.append(reference)
    assert 10 <= survived < MOST_STATEMENTS
    noted = set(Verification.objects.values_list("reference", flat=True))
    # Before the first write nobody knows of the payment: the payer's reload is the remedy. A new
    # process looks first which site the tables belong to.
    assert set(references) - noted == {"KILLED-1", "KILLED-2", "KILLED-3"}
    sweep_to_the_end()
    assert all(once(reference) for reference in references if reference in noted)
    assert Good.objects.count() == survived - 3


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [1, 2])
def test_killed_at_a_commit_it_is_delivered_once(
    worker: Worker, tea_box: PaymentPage, sandbox: Sandbox, number: int, after: bool
) -> None:
    """Just before the commit of record and delivery, and just after: never told, but done.

    On MariaDB and MySQL there are two.
    """
    commits = 1 + foreign_keys_lock(connection.alias)
    if number > commits:
        pytest.skip("record and delivery are one commit")
    reference = sandbox.pay("tea-box")
    answer = worker.run(
        reference=reference, token=str(tea_box.token), die_commit=number, after=after
    )
    assert answer["killed"] == signal.SIGKILL
    assert Good.objects.exists() == (number == commits and after)
    sweep_to_the_end()
    assert once(reference)


def _child_of(worker: Worker) -> int:
    """The fork that runs the job."""
    pid = worker.pid
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
