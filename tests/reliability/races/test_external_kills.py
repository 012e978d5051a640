"""Processes that call the outside world are killed; the call is made again, with the same key."""

import signal
from typing import Any

import pytest
from django.db import connection

from payments_pages.choices import FulfilmentState, Outcome
from payments_pages.confirmation import sweep_due
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.integration.queues.workers import wait_until
from tests.reliability.races.conftest import Team, Worker
from tests.reliability.races.handlers import LEASE
from tests.support.goods.models import Good

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

UPDATE = "UPDATE {}"


def test_killed_between_the_call_and_its_record_it_is_called_again(
    worker: Worker, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.external.die_first", HANDLER_ATOMIC=False, LEASE=30)
    reference = sandbox.pay("tea-box")
    answer = worker.run(reference=reference, token=str(tea_box.token))
    assert answer["killed"] == signal.SIGKILL
    assert Good.objects.count() == 1, "the call was made"
    assert sweep_due().taken == 0, "the lease still holds"
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert list(Good.objects.order_by("pk").values_list("attempt", flat=True)) == [1, 2]
    assert Good.objects.values("key").distinct().count() == 1
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED


def test_killed_before_the_call_it_is_called_once(
    worker: Worker, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.external.call_and_write", HANDLER_ATOMIC=False, LEASE=30)
    reference = sandbox.pay("tea-box")
    table = connection.ops.quote_name(Fulfilment._meta.db_table)
    answer = worker.run(reference=reference, token=str(tea_box.token), die_on=UPDATE.format(table))
    assert answer["killed"] == signal.SIGKILL
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.get().attempt == 2


def test_rivals_with_a_slow_external_handler_call_it_once(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box")
    keys = {"HANDLER": "tests.support.goods.handlers.slow", "HANDLER_ATOMIC": False}
    rows = team.race(reference=reference, token=str(tea_box.token), threads=4, settings=keys)
    assert [row["error"] for row in rows if "error" in row] == []
    outcomes = [row["outcome"] for row in rows]
    assert outcomes.count(Outcome.DELIVERED) == 1
    assert set(outcomes) <= {
        Outcome.DELIVERED, Outcome.ALREADY_DELIVERED, Outcome.DELIVERING, Outcome.PENDING,
    }  # fmt: skip
    assert Good.objects.count() == 1


def work_while_others_ask(
    workers: list[Worker], page: PaymentPage, reference: str, handler: str
) -> tuple[str, list[str]]:
    """Deliver in one process; in another, sweep and come back repeatedly. Return the answers."""
    keys = {
        "HANDLER": f"tests.reliability.races.handlers.{handler}",
        "HANDLER_ATOMIC": False,
        "LEASE": LEASE,
    }
    job = {"reference": reference, "token": str(page.token), "settings": keys}
    workers[0].begin(job)
    begun = Fulfilment.objects.filter(state=FulfilmentState.DELIVERING)
    assert wait_until(begun.exists, seconds=60)
    workers[1].begin({**job, "way": "importune"})
    (worked,), (asked,) = (worker.finish()["rows"] for worker in workers[:2])
    assert "error" not in {*worked, *asked}, (worked, asked)
    return worked["outcome"], asked["outcome"]


def test_work_that_outlasts_its_lease_and_renews_it_calls_once(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    worked, asked = work_while_others_ask(
        team.workers, tea_box, sandbox.pay("tea-box"), "work_long_and_renew"
    )
    assert worked == Outcome.DELIVERED
    assert asked.count(Outcome.DELIVERING) > 5, "the control: others did ask meanwhile"
    assert set(asked) == {Outcome.DELIVERING, Outcome.ALREADY_DELIVERED}
    assert Good.objects.get().attempt == 1


def test_work_that_outlasts_its_lease_unrenewed_is_done_again_with_the_same_key(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """The control of the one above, and the whole of the promise: at least once, by one key."""
    worked, asked = work_while_others_ask(
        team.workers, tea_box, sandbox.pay("tea-box"), "work_long"
    )
    assert worked != Outcome.DELIVERED, "the first came back when the lease was no longer its own"
    assert asked.count(Outcome.DELIVERED) == 1
    assert list(Good.objects.order_by("pk").values_list("attempt", flat=True)) == [1, 2]
    assert Good.objects.values("key").distinct().count() == 1
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED
