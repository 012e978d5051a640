"""A short-lived database error is retried at once, a few times; another error is not."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, ProgrammingError, connection, transaction
from django.dispatch import Signal

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.db import retry_transient, transient
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_failed, fulfilment_held
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.reliability.crash.points import Points, cut_line, lose_answer
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

UPDATE = "UPDATE payments_pages_fulfilment"


@pytest.fixture
def points(tea_box: PaymentPage, sandbox: Sandbox) -> Callable[[str], int]:
    """Find the number of a step in a whole run, by its name."""

    def find(name: str) -> int:
        sandbox.pay("tea-box", reference="PPG-0")
        run = Points()
        with run.watch():
            confirm_payment("PPG-0", door=Door.CALLBACK, page_token=tea_box.token)
        return run.seen.index(name) + 1

    return find


@pytest.mark.parametrize(
    "step",
    [
        "UPDATE payments_pages_verification",
        "INSERT payments_pages_transaction",
        "INSERT payments_pages_fulfilment",
        "INSERT goods_good",
    ],
)
@pytest.mark.parametrize("broken", [cut_line, lose_answer])
def test_a_step_that_is_undone_is_done_again_at_once(
    step: str, broken: Any, points: Callable[[str], int], tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """The error comes in the first statement, in the recording, at the delivery, or in the handler."""
    run = Points(at=points(step), broken=broken)
    sandbox.pay("tea-box", reference="PPG-1")
    with run.watch():
        found = confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token)
    assert run.hit
    assert run.seen.count(step) == 2
    assert found.outcome is Outcome.DELIVERED
    assert Good.objects.filter(reference="PPG-1").count() == 1
    row = Fulfilment.objects.get(transaction__reference="PPG-1")
    assert (row.attempts, row.last_error) == (1, "")
    assert Transaction.objects.filter(reference="PPG-1").count() == 1
    kinds = list(
        Event.objects.filter(reference_key=row.reference_key).values_list("kind", flat=True)
    )
    assert len(kinds) == len(set(kinds)), "nothing is told twice"


@contextmanager
def a_rival_at(model: type[Verification | Fulfilment]) -> Iterator[None]:
    """Let another transaction change the rows, and commit while ours waits for them."""
    taken = threading.Event()

    def touch() -> None:
        with transaction.atomic():
            model.objects.update(last_error="as it was")
            taken.set()
            time.sleep(0.3)

    rival = in_thread(touch)
    assert taken.wait(10)
    yield
    rival.result()


def test_a_claim_that_a_rival_undoes_is_made_again(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    """If the server gives each statement its own snapshot, it may refuse any claim."""
    reference = sandbox.pay("tea-box", status="pending")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    sandbox.set_transaction(reference, status="success")
    let_time_pass(61)
    with a_rival_at(Verification):
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED


def test_the_claim_of_a_delivery_that_a_rival_holds_is_made_by_the_next_caller(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Nobody waits for the row; on SQLite, callers wait for the whole database."""
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    Good.objects.all().delete()
    Fulfilment.objects.update(state="pending", delivered_at=None)
    with a_rival_at(Fulfilment):
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    if connection.vendor != "sqlite":
        assert found.outcome is Outcome.DELIVERING
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED
    assert Good.objects.count() == 1


@pytest.mark.parametrize(
    "step",
    [
        "SELECT payments_pages_verification",
        "INSERT payments_pages_verification",
        "UPDATE payments_pages_verification",
    ],
)
def test_a_statement_of_its_own_is_done_again(
    step: str, points: Callable[[str], int], tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """If the connection was cut before the statement, the next try uses a new one."""
    run = Points(at=points(step), broken=cut_line)
    sandbox.pay("tea-box", reference="PPG-1")
    with run.watch():
        found = confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token)
    assert run.hit
    assert found.outcome is Outcome.DELIVERED
    assert Good.objects.filter(reference="PPG-1").count() == 1


@pytest.mark.parametrize("broken", [cut_line, lose_answer])
@pytest.mark.parametrize(
    ("handler", "which", "state", "events"),
    [
        pytest.param("fail_always", -1, "failed", ["delivery_failed"], id="record of a failure"),
        pytest.param("refuse", -1, "held", ["held"], id="record of a refusal"),
        pytest.param("give", 0, "delivered", ["delivered"], id="renewal of a lease"),
    ],
)
def test_an_external_attempts_own_statements_are_done_again(
    handler: str,
    which: int,
    state: str,
    events: list[str],
    broken: Any,
    tea_box: PaymentPage,
    sandbox: Sandbox,
    configure: Any,
) -> None:
    """If this were left to the end of the lease, nobody would see the failure for a minute."""
    configure(HANDLER=f"tests.support.goods.handlers.{handler}", HANDLER_ATOMIC=False)

    def buy(reference: str, run: Points) -> Points:
        sandbox.pay("tea-box", reference=reference)
        with run.watch():
            confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
        return run

    whole = buy("PPG-0", Points()).seen
    updates = [place for place, step in enumerate(whole, 1) if step == UPDATE]
    assert buy("PPG-1", Points(at=updates[which], broken=broken)).hit
    row = Fulfilment.objects.get(transaction__reference="PPG-1")
    assert (row.state, row.attempts) == (state, 1)
    told = Event.objects.filter(reference_key=row.reference_key, kind__in=events)
    assert list(told.values_list("kind", flat=True)) == events


@pytest.mark.parametrize(
    ("handler", "signal"), [("fail_always", fulfilment_failed), ("refuse", fulfilment_held)]
)
def test_a_failure_whose_commit_was_not_answered_is_told_once(
    handler: str, signal: Signal, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    """The second try finds the row already changed by the first."""
    configure(HANDLER=f"tests.support.goods.handlers.{handler}", HANDLER_ATOMIC=False)
    told: list[str] = []

    def hear(fulfilment: Fulfilment, **_named: Any) -> None:
        told.append(fulfilment.transaction.reference)

    def buy(reference: str, run: Points) -> Points:
        sandbox.pay("tea-box", reference=reference)
        with run.watch():
            confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
        return run

    signal.connect(hear)
    try:
        whole = buy("PPG-0", Points()).seen
        last = len(whole) - whole[::-1].index("COMMIT")
        assert UPDATE in whole[last - 4 : last]
        assert buy("PPG-1", Points(at=last, broken=lose_answer)).hit
    finally:
        signal.disconnect(hear)
    assert told == ["PPG-0", "PPG-1"]
    row = Fulfilment.objects.get(transaction__reference="PPG-1")
    kinds = Event.objects.filter(reference_key=row.reference_key).values_list("kind", flat=True)
    assert sorted(kinds) == sorted(
        {"verified", "accepted", "held" if row.state == "held" else "delivery_failed"}
    )


def test_inside_a_transaction_nothing_is_tried_again() -> None:
    """After the error the whole block must be rolled back, and only its owner can do that."""
    action, numbers = failing([busy()])
    with transaction.atomic(), pytest.raises(InterfaceError):
        retry_transient(action, using=connection.alias)
    assert numbers == [0]


def busy() -> Exception:
    return InterfaceError("connection already closed")


def failing(errors: list[Exception]) -> tuple[Callable[[int], str], list[int]]:
    numbers: list[int] = []

    def action(number: int) -> str:
        numbers.append(number)
        if errors:
            raise errors.pop()
        return "done"

    return action, numbers


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transient, "_PAUSES", (0, 0, 0))


def test_there_are_at_most_four_tries() -> None:
    action, numbers = failing([busy() for _try in range(3)])
    assert retry_transient(action, using=connection.alias) == "done"
    assert numbers == [0, 1, 2, 3]
    action, numbers = failing([busy() for _try in range(9)])
    with pytest.raises(InterfaceError):
        retry_transient(action, using=connection.alias)
    assert numbers == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "error",
    [
        ProgrammingError("no such column"),
        RuntimeError("no luck"),
        OperationalError(1290, "the server is read-only"),
        OperationalError(1021, "the disk is full"),
    ],
)
def test_what_does_not_pass_is_not_tried_again(error: Exception) -> None:
    action, numbers = failing([error])
    with pytest.raises(type(error)):
        retry_transient(action, using=connection.alias)
    assert numbers == [0]


@pytest.mark.parametrize("number", [1180, 1203, 1317, 3101])
def test_what_is_over_a_moment_later_is_tried_again(number: int) -> None:
    action, numbers = failing([OperationalError(number, "words")])
    assert retry_transient(action, using=connection.alias) == "done"
    assert numbers == [0, 1]


def test_an_error_that_was_long_in_coming_is_not_waited_for_again() -> None:
    action, numbers = failing([busy()])
    with pytest.raises(InterfaceError):
        retry_transient(action, using=connection.alias, within=-1)
    assert numbers == [0]
