"""What a sweep takes, in which order, and what it leaves: to rivals, to the next sweep, to an outage."""

import io
import time
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from payments_pages.choices import Door, FulfilmentState, Outcome, VerificationState
from payments_pages.client import BREAKER_PAUSE, GATES
from payments_pages.confirmation import SweepReport, confirm_payment, oldest_due, sweep_due
from payments_pages.db import from_now
from payments_pages.models import Fulfilment, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("tea_box")]


def come_too_early(sandbox: Sandbox, number: int) -> list[str]:
    """Bring payers in whose payments are not through yet; by the next look they are."""
    references = [pay(sandbox, status="pending") for _number in range(number)]
    for reference in references:
        confirm_payment(reference, door=Door.CALLBACK)
        sandbox.set_transaction(reference, status="success")
    return references


def make_due(sandbox: Sandbox, number: int) -> list[str]:
    references = come_too_early(sandbox, number)
    let_time_pass(3600)
    return references


def rows() -> list[dict[str, Any]]:
    """All that is known of the questions, to see that nothing was written."""
    return list(Verification.objects.order_by("pk").values())


def swept(*arguments: str) -> str:
    out = io.StringIO()
    call_command("payments_pages_sweep", *arguments, stdout=out)
    return out.getvalue()


class StopAfter:
    """Tell a sweep to stop after so many rows."""

    def __init__(self, taken: int) -> None:
        self.left = taken

    def count(self, _report: SweepReport) -> None:
        self.left -= 1

    def is_enough(self) -> bool:
        return self.left <= 0


def test_s05_the_newest_payer_is_not_behind_the_backlog_nor_the_oldest_behind_the_newest(
    sandbox: Sandbox,
) -> None:
    oldest, *_others = make_due(sandbox, 9)
    Verification.objects.filter(reference=oldest).update(next_at=from_now(-7200))
    (newest,) = come_too_early(sandbox, 1)
    let_time_pass(60)
    stop = StopAfter(2)
    assert sweep_due(progress=stop.count, stop=stop.is_enough).taken == 2
    assert set(Good.objects.values_list("reference", flat=True)) == {newest, oldest}


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_s05_everything_is_taken_once_whatever_the_batch(sandbox: Sandbox, batch: int) -> None:
    make_due(sandbox, 7)
    asked = sandbox.verify_calls()
    assert sweep_due(batch=batch).outcomes == {Outcome.DELIVERED: 7}
    assert sandbox.verify_calls() == asked + 7


def test_s05_what_another_sweep_has_taken_is_skipped_at_once(sandbox: Sandbox) -> None:
    """The rival asks at this moment: it has claimed all rows but the first."""
    make_due(sandbox, 6)
    asked = sandbox.verify_calls()

    def claim_the_others(_report: SweepReport) -> None:
        Verification.objects.filter(state=VerificationState.DUE).update(
            state=VerificationState.VERIFYING, next_at=from_now(15)
        )

    began = time.monotonic()
    assert sweep_due(progress=claim_the_others).outcomes == {Outcome.DELIVERED: 1}
    assert time.monotonic() - began < 2, "a sweep waits for nobody"
    assert sandbox.verify_calls() == asked + 1


def test_s05_what_another_sweep_has_settled_is_not_asked_about_again(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_due(sandbox, 6)
    asked = sandbox.verify_calls()
    theirs: list[SweepReport] = []

    def let_rival_sweep(_report: SweepReport) -> None:
        if not theirs:
            theirs.append(sweep_due())
            let_time_pass(10)

    assert sweep_due(progress=let_rival_sweep).outcomes == {Outcome.DELIVERED: 1}
    assert theirs[0].outcomes == {Outcome.DELIVERED: 5}
    assert sandbox.verify_calls() == asked + 6


def test_s05_a_delivery_that_a_rival_makes_is_skipped_at_once(
    sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    for _number in range(3):
        confirm_payment(pay(sandbox), door=Door.CALLBACK)
    configure(HANDLER="tests.support.goods.handlers.deliver")
    let_time_pass(3600)

    def claim_the_others(_report: SweepReport) -> None:
        Fulfilment.objects.filter(state=FulfilmentState.FAILED).update(
            state=FulfilmentState.DELIVERING, attempts=2, next_at=from_now(60)
        )

    began = time.monotonic()
    assert sweep_due(progress=claim_the_others).outcomes == {Outcome.DELIVERED: 1}
    assert time.monotonic() - began < 2


def test_s05_when_the_time_is_over_the_rest_is_left_and_counted(sandbox: Sandbox) -> None:
    make_due(sandbox, 3)
    report = sweep_due(seconds=0)
    assert (report.taken, report.left) == (0, 3)
    assert swept("--seconds", "0.000001") == (
        "Swept 0. The time is over. Left for the next sweep: 3 due rows.\n"
    )
    assert swept() == "Swept 3: 3 delivered.\n"
    assert sweep_due(seconds=0).left == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--jobs", "0"], "above zero"),
        (["--seconds", "-1"], "above zero"),
        (["--seconds", "0"], "above zero"),
        (["--jobs", "5"], "MAX_CALLS, which is 4"),
    ],
)
def test_s05_a_sweep_that_could_not_work_is_refused(
    sandbox: Sandbox, arguments: list[str], told: str
) -> None:
    with pytest.raises(CommandError, match=told):
        call_command("payments_pages_sweep", *arguments)


def test_s05_an_error_in_one_thread_ends_the_sweep(sandbox: Sandbox, configure: Any) -> None:
    make_due(sandbox, 3)

    def raise_error(_report: SweepReport) -> None:
        raise LookupError("the terminal is gone")

    with pytest.raises(LookupError):
        sweep_due(jobs=2, progress=raise_error)


@pytest.mark.parametrize("jobs", [1, 3])
def test_s12_while_the_breaker_is_open_a_sweep_only_delivers(
    sandbox: Sandbox, configure: Any, jobs: int
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    confirm_payment(pay(sandbox), door=Door.CALLBACK)
    configure(HANDLER="tests.support.goods.handlers.deliver")
    make_due(sandbox, 20)
    sandbox.faults.add(kind="status", operation="verify", status=503)
    first = sweep_due(jobs=jobs)
    asked = first.outcomes[Outcome.UNAVAILABLE]
    assert 3 <= asked < 5 + jobs
    assert first.unasked == 20 - asked
    assert Good.objects.count() == 1, "the delivery needs no answer"
    before, calls, age = rows(), sandbox.verify_calls(), oldest_due()
    confirm_payment(pay(sandbox), door=Door.CALLBACK)  # noted, and not asked about
    noted = Verification.objects.order_by("-pk").first()
    report = sweep_due(jobs=jobs)
    assert (report.taken, report.unasked) == (0, 20 - asked)
    assert rows()[:-1] == before, "nothing was written"
    assert noted == Verification.objects.order_by("-pk").first()
    assert sandbox.verify_calls() == calls
    assert age is not None
    assert (oldest_due() or age) >= age, "the alarm is not put off"
    assert (
        f"The service keeps failing. Waiting until it answers: {20 - asked} references." in swept()
    )


@pytest.mark.parametrize("jobs", [1, 3])
def test_s12_one_call_finds_out_whether_the_service_is_back(sandbox: Sandbox, jobs: int) -> None:
    make_due(sandbox, 20)
    fault = sandbox.faults.add(kind="status", operation="verify", status=503)
    asked = sweep_due(jobs=jobs).taken
    (breaker,) = GATES._own()
    breaker._probe_at = time.monotonic() - 0.1
    before = rows()
    report = sweep_due(jobs=jobs)
    assert report.outcomes == {Outcome.UNAVAILABLE: 1}
    changed = [row for row in rows() if row not in before]
    assert len(changed) == 1, "the probe's own row"
    sandbox.faults.clear()
    assert fault.used
    breaker._probe_at = time.monotonic() - 0.1
    report = sweep_due(jobs=jobs)
    assert report.outcomes == {Outcome.DELIVERED: 20 - asked - 1}
    assert report.unasked == 0


def test_s12_a_breaker_that_nobody_asks_any_more_does_not_count(sandbox: Sandbox) -> None:
    """Its key was rotated: the new key has a breaker of its own."""
    make_due(sandbox, 8)
    sandbox.faults.add(kind="status", operation="verify", status=503)
    sweep_due()
    assert GATES.is_failing()
    (breaker,) = GATES._own()
    breaker._probe_at = time.monotonic() - BREAKER_PAUSE - 1
    assert not GATES.is_failing()
