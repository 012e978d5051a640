"""Drive the path against a plain model: any order of doors, answers, crashes, sweeps and staff.

STATE_MACHINE_EXAMPLES and STATE_MACHINE_STEPS ask for more than the default.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from payments_pages.choices import Verdict
from payments_pages.confirmation import delivery, evidence, rivals, verification
from payments_pages.confirmation.policy import Decision, Facts
from payments_pages.models import Fulfilment, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions
from tests.reliability.state_machine.external import PathToTheOutside
from tests.reliability.state_machine.machine import Path
from tests.support.webhook_signing import HEADER, SECRET

EXAMPLES = os.environ.get("STATE_MACHINE_EXAMPLES")


@pytest.fixture
def drive(
    transactional_db: None, sandbox: Sandbox, configure: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., int]]:
    """Run the machine; by default the same examples every time."""
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=(SECRET,))
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 0.0)
    monkeypatch.setattr(verification, "ASK_AT_MOST_EVERY", 0.0)
    place = {"sandbox": sandbox, "configure": staticmethod(configure)}
    holder = connection.copy()  # whoever closes an SQLite file last waits for the disk
    holder.ensure_connection()

    def run(kind: type[Path], **more: Any) -> int:
        machine = type(kind.__name__, (kind,), dict(place))
        chosen = settings(
            max_examples=int(EXAMPLES or (20 if kind.atomic else 12)),
            stateful_step_count=int(os.environ.get("STATE_MACHINE_STEPS", "30")),
            derandomize=EXAMPLES is None,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(machine, settings=settings(chosen, **more))
        return int(machine.given_on_the_way)

    yield run
    holder.close()


both = pytest.mark.parametrize("kind", [Path, PathToTheOutside], ids=["atomic", "external"])


@both
def test_no_order_of_events_breaks_the_promise(drive: Callable[..., int], kind: type[Path]) -> None:
    assert drive(kind) > 10, "the machine must come as far as deliveries, or it shows nothing"


def accept_all(facts: Facts, expectation: object, mode: str) -> Decision:
    accepted = facts.status == "success"
    return Decision(verdict=Verdict.ACCEPT if accepted else Verdict.WAIT)


def retry_anything(transaction: Transaction) -> bool:
    return True


def another_key(fulfilment: Fulfilment) -> bool:
    fulfilment.idempotency_key = uuid4()
    return True


def claim_without_a_word(
    row: Verification,
    *,
    claim: Callable[..., verification.Claim | None] = verification.claim,
    **more: bool,
) -> verification.Claim | None:
    """Ask as anybody may, and write down nothing of who named the reference."""
    return claim(row, refresh=more["refresh"], vouched=False)


@pytest.mark.parametrize(
    ("kind", "module", "name", "wrong", "steps"),
    [
        (Path, verification, "claim", claim_without_a_word, 30),
        (Path, evidence, "decide", accept_all, 30),
        # Only a long story comes to it soon.
        (Path, decisions, "may_retry", retry_anything, 90),
        (PathToTheOutside, evidence, "decide", accept_all, 30),
        (PathToTheOutside, delivery, "renew_lease", another_key, 30),
    ],
    ids=[
        "nothing is kept of a trusted word",
        "any success is accepted",
        "what is delivered may be tried again",
        "any success is accepted, external handler",
        "an external handler gets another key",
    ],
)
def test_the_machine_notices_when_the_path_is_wrong(
    drive: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Path],
    module: Any,
    name: str,
    wrong: Any,
    steps: int,
) -> None:
    """The control: a model that finds nothing wrong here would prove nothing above."""
    monkeypatch.setattr(module, name, wrong)
    with pytest.raises(AssertionError):
        # It ends with the first that fails.
        drive(kind, phases=[Phase.generate], max_examples=200, stateful_step_count=steps)
