"""The sweep as a command: on a terminal, in a pipe, as a service that is told to stop."""

import io
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from payments_pages.choices import Door, FulfilmentState, VerificationState
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("tea_box")]

SWEEP = [sys.executable, "-m", "django", "payments_pages_sweep"]
Environment = Callable[[], dict[str, str]]


def make_due(sandbox: Sandbox, number: int) -> None:
    """Bring payers in before their payments are through, an hour ago; by now they are."""
    for _number in range(number):
        reference = pay(sandbox, status="pending")
        confirm_payment(reference, door=Door.CALLBACK)
        sandbox.set_transaction(reference, status="success")
    let_time_pass(3600)


def wait_for(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


@pytest.mark.slow
def test_a_terminal_sees_how_many_are_taken_and_the_line_is_taken_away(
    sandbox: Sandbox, child_environment: Environment
) -> None:
    make_due(sandbox, 3)
    ours, theirs = pty.openpty()
    with subprocess.Popen(SWEEP, env=child_environment(), stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                some = os.read(ours, 1000)
            except OSError:  # Linux: the other end is closed
                some = b""
            if not some:
                break
            seen += some
    os.close(ours)
    assert process.returncode == 0
    text = seen.decode().replace("\r\n", "\n")
    steps = "".join(f"\r\x1b[K{number} taken …" for number in (1, 2, 3))
    assert text == f"{steps}\r\x1b[KSwept 3: 3 delivered.\n"


@pytest.mark.slow
def test_a_pipe_gets_one_line(sandbox: Sandbox, child_environment: Environment) -> None:
    make_due(sandbox, 3)
    done = subprocess.run(
        SWEEP, env=child_environment(), capture_output=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"Swept 3: 3 delivered.\n", b"")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_watching_sweep_that_is_told_to_stop_finishes_the_row_in_hand(
    sandbox: Sandbox, configure: Any, child_environment: Environment, number: signal.Signals
) -> None:
    configure(HANDLER="tests.support.goods.handlers.slow")
    make_due(sandbox, 3)
    with subprocess.Popen(
        [*SWEEP, "--watch", "--interval", "0.2"],
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        # In the middle: the row is claimed, its handler sleeps and has not committed.
        wait_for(Fulfilment.objects.filter(state=FulfilmentState.DELIVERING).exists)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert out == "Swept 1: 1 delivered.\nStopped.\n"
    assert Good.objects.count() == 1
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED
    left = Verification.objects.exclude(state=VerificationState.SETTLED)
    assert {row.state for row in left} == {VerificationState.DUE}
    assert left.count() == 2
    out_again = io.StringIO()
    call_command("payments_pages_sweep", stdout=out_again)
    assert out_again.getvalue() == "Swept 2: 2 delivered.\n"


@pytest.mark.slow
def test_a_watching_sweep_that_sleeps_stops_at_once_and_has_said_nothing(
    sandbox: Sandbox, child_environment: Environment
) -> None:
    make_due(sandbox, 1)
    with subprocess.Popen(
        [*SWEEP, "--watch", "--interval", "3600"],
        env=child_environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(Good.objects.exists)
        asked_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out, _nothing = process.communicate(timeout=30)
    assert time.monotonic() - asked_at < 10
    assert process.returncode == 0
    assert out == "Swept 1: 1 delivered.\nStopped.\n"


def test_the_age_is_one_number_and_its_exit_code_an_alarm(sandbox: Sandbox, configure: Any) -> None:
    def age() -> int:
        out = io.StringIO()
        try:
            call_command("payments_pages_sweep", "--age", stdout=out)
        finally:
            self_said.append(out.getvalue())
        return int(out.getvalue())

    self_said: list[str] = []
    assert age() == 0
    make_due(sandbox, 1)
    with pytest.raises(CommandError, match=r"waited for 35\d\d s"):
        age()
    assert self_said[-1].startswith("35")
    assert Good.objects.count() == 0, "--age only looks"
    configure(OVERDUE=4000)
    assert 3500 <= age() < 3700
    call_command("payments_pages_sweep", stdout=io.StringIO())
    assert age() == 0


@pytest.mark.parametrize("arguments", [["--batch", "0"], ["--interval", "0"], ["--interval", "-1"]])
def test_a_pace_that_makes_no_sense_is_refused(sandbox: Sandbox, arguments: list[str]) -> None:
    with pytest.raises(CommandError, match="above zero"):
        call_command("payments_pages_sweep", *arguments)


def test_a_batch_smaller_than_what_is_due_leaves_nothing(sandbox: Sandbox) -> None:
    make_due(sandbox, 5)
    out = io.StringIO()
    call_command("payments_pages_sweep", "--batch", "2", stdout=out)
    assert out.getvalue() == "Swept 5: 5 delivered.\n"
