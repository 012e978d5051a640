"""The value is given once, and each answer is true, whatever a handler does."""

import logging
from typing import Any

import pytest

from payments_pages.choices import Door, EventKind, Outcome, Reason
from payments_pages.choices import FulfilmentState as State
from payments_pages.confirmation import (
    Confirmation,
    confirm_payment,
    failed_delivery,
    rivals,
    sweep_due,
)
from payments_pages.confirmation import fulfilment as module
from payments_pages.confirmation.delivery import deliver
from payments_pages.confirmation.fulfilment import await_delivery, claim
from payments_pages.models import Event, Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_delivered, fulfilment_failed, fulfilment_held
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db

HOUR = 3600


@pytest.fixture
def buy(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> Any:
    """Pay for the tea box and confirm it, with a handler of `tests.support.goods.handlers`."""

    def run(handler: str = "give", reference: str = "PPG-1012", **keys: Any) -> Confirmation:
        configure(HANDLER=f"tests.support.goods.handlers.{handler}", **keys)
        if sandbox.transaction(reference) is None:
            sandbox.pay("tea-box", reference=reference)
        return confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)

    return run


@pytest.fixture
def heard() -> Any:
    """The signals about deliveries, in order."""
    names: list[str] = []

    def listen(signal: Any, name: str) -> Any:
        def receive(sender: object, fulfilment: Fulfilment, **_more: object) -> None:
            names.append(f"{name} {fulfilment.state}")

        signal.connect(receive, weak=False)
        return receive

    signals = {
        "delivered": fulfilment_delivered, "failed": fulfilment_failed, "held": fulfilment_held,
    }  # fmt: skip
    receivers = {name: listen(signal, name) for name, signal in signals.items()}
    yield names
    for name, receiver in receivers.items():
        signals[name].disconnect(receiver)


def the_row() -> Fulfilment:
    return Fulfilment.objects.get()


def test_the_handler_runs_once_and_is_told_what_it_needs(buy: Any, heard: list[str]) -> None:
    assert buy().outcome is Outcome.DELIVERED
    assert buy().outcome is Outcome.ALREADY_DELIVERED
    row, good = the_row(), Good.objects.get()
    assert (row.state, row.attempts, row.next_at) == (State.DELIVERED, 1, None)
    assert row.delivered_at is not None
    assert (good.key, good.attempt) == (row.idempotency_key, 1)
    assert heard == ["delivered delivered"]


@pytest.mark.django_db(transaction=True)
def test_c12_a_handler_that_raises_is_rolled_back_and_tried_again_by_the_sweep(
    buy: Any, heard: list[str]
) -> None:
    assert buy("fail_first").outcome is Outcome.DELIVERY_FAILED
    row = the_row()
    assert not Good.objects.exists(), "what the handler wrote must be undone"
    assert (row.state, row.attempts) == (State.FAILED, 1)
    assert row.last_error == "RuntimeError: the first attempt fails"
    assert row.delivered_at is None
    assert sweep_due().taken == 0, "it is not due yet"
    let_time_pass(20)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    row, good = the_row(), Good.objects.get()
    assert (row.state, row.attempts, good.attempt) == (State.DELIVERED, 2, 2)
    assert good.key == row.idempotency_key, "one key for every attempt"
    assert heard == ["failed failed", "delivered delivered"]
    let_time_pass(HOUR)
    assert sweep_due().taken == 0


def test_c12_a_door_that_comes_back_tries_at_once(buy: Any) -> None:
    assert buy("fail_first").outcome is Outcome.DELIVERY_FAILED
    assert buy("fail_first").outcome is Outcome.DELIVERED
    assert Good.objects.get().attempt == 2


@pytest.mark.django_db(transaction=True)
def test_who_reloads_cannot_spend_all_attempts(buy: Any, configure: Any) -> None:
    outcomes = {buy("fail_always", MAX_ATTEMPTS=12).outcome for _reload in range(20)}
    assert outcomes == {Outcome.DELIVERY_FAILED}
    assert the_row().attempts == module.EARLY_ATTEMPTS
    configure(HANDLER="tests.support.goods.handlers.give")
    let_time_pass(HOUR)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


@pytest.mark.django_db(transaction=True)
def test_the_backoff_doubles_and_attempts_end_in_a_hold(buy: Any, heard: list[str]) -> None:
    buy("fail_always", MAX_ATTEMPTS=7, BACKOFF=10)
    for attempt in range(2, 8):
        let_time_pass(10 * 2 ** (attempt - 2) - 1)
        assert sweep_due().taken == 0, f"attempt {attempt} is not due yet"
        let_time_pass(10 * 2 ** (attempt - 2) * 0.25 + 2)
        assert sweep_due().taken == 1
    row = the_row()
    assert (row.state, row.reason, row.attempts) == (State.HELD, Reason.ATTEMPTS_SPENT, 7)
    assert row.next_at is None
    assert heard == ["failed failed"] * 6 + ["held held"]
    assert not Good.objects.exists()
    let_time_pass(HOUR)
    assert sweep_due().taken == 0
    assert buy("give").outcome is Outcome.HELD, "from here on it is for staff"


@pytest.mark.django_db(transaction=True)
def test_the_backoff_ends_at_an_hour(buy: Any) -> None:
    buy("fail_always", MAX_ATTEMPTS=99, BACKOFF=3000)
    let_time_pass(2 * HOUR)
    sweep_due()
    let_time_pass(1.25 * HOUR + 1)
    assert sweep_due().taken == 1


def test_a_permanent_error_is_held_at_once_and_not_tried_again(buy: Any, heard: list[str]) -> None:
    assert buy("refuse").outcome is Outcome.HELD
    row = the_row()
    assert (row.state, row.reason, row.attempts) == (State.HELD, Reason.PERMANENT_ERROR, 1)
    assert row.last_error == "PermanentFulfilmentError: sold out"
    assert buy("give").outcome is Outcome.HELD
    assert not Good.objects.exists()
    assert heard == ["held held"]


def test_an_error_text_holds_neither_key_nor_payer(
    buy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    buy("fail_always")
    kept = the_row().last_error + repr(list(Event.objects.values_list("detail"))) + caplog.text
    assert "RuntimeError: no luck for" in kept
    assert "sk_test_suite" not in kept
    assert "payer@example.test" not in kept


def test_f6_the_log_of_a_failed_handler_names_the_error_and_its_place_and_has_the_stack(
    buy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    buy("fail_deep")
    (record,) = [r for r in caplog.records if r.getMessage().startswith("fulfilment.failed")]
    line = record.getMessage()
    assert line.startswith("fulfilment.failed: PPG-1012: KeyError: ")
    assert "\n" not in line
    assert " > … > " in line
    assert line.endswith("in sink)"), "the innermost frame says where"
    assert "goods/handlers.py:" in line
    assert vars(record)["error"] == "KeyError"
    assert record.exc_info is not None
    stack = logging.Formatter().formatException(record.exc_info)
    assert "in fail_deep" in stack
    for secret in ("sk_test_suite", "payer@example.test"):
        assert secret not in stack + line


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("handler", ["undo_silently", "swallow_error"])
def test_what_will_be_rolled_back_is_not_told_as_delivered(buy: Any, handler: str) -> None:
    assert buy(handler).outcome is Outcome.DELIVERY_FAILED
    assert not Good.objects.exists()
    assert (the_row().state, the_row().attempts) == (State.FAILED, 1)
    let_time_pass(20)
    sweep_due()
    assert (the_row().state, Good.objects.get().attempt) == (State.DELIVERED, 2)


@pytest.mark.django_db(transaction=True)
def test_an_error_inside_a_savepoint_is_the_handlers_own_business(buy: Any) -> None:
    assert buy("recover_properly").outcome is Outcome.DELIVERED
    assert Good.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_c62_what_fails_after_the_commit_undoes_nothing(
    buy: Any, heard: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert buy("mail_after_commit").outcome is Outcome.DELIVERED
    assert buy("mail_after_commit").outcome is Outcome.ALREADY_DELIVERED
    row = the_row()
    assert (row.state, row.attempts, row.last_error) == (State.DELIVERED, 1, "")
    assert Good.objects.count() == 1
    assert heard == ["delivered delivered"]
    errors = [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert "PPG-1012" in errors[0]
    assert "the mail server is down" in errors[0]


@pytest.mark.django_db(transaction=True)
def test_c62_a_receiver_that_raises_undoes_nothing(buy: Any) -> None:
    def receive(**_more: object) -> None:
        raise OSError("the mail server is down")

    signals = (fulfilment_delivered,)
    for signal in signals:
        signal.connect(receive, weak=False)
    try:
        assert buy().outcome is Outcome.DELIVERED
    finally:
        for signal in signals:
            signal.disconnect(receive)
    assert (the_row().state, Good.objects.count()) == (State.DELIVERED, 1)


@pytest.mark.django_db(transaction=True)
def test_confirming_from_within_a_handler_is_refused(buy: Any) -> None:
    assert buy("enter_again").outcome is Outcome.DELIVERY_FAILED
    assert "confirm_payment_on_commit" in the_row().last_error
    assert not Good.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("handler", ["nowhere", "not_callable"])
def test_a_handler_that_is_not_there_loses_no_payment(
    buy: Any, configure: Any, handler: str
) -> None:
    assert buy(handler).outcome is Outcome.DELIVERY_FAILED
    assert handler in the_row().last_error
    configure(HANDLER="tests.support.goods.handlers.give")
    let_time_pass(20)
    sweep_due()
    assert (the_row().state, Good.objects.count()) == (State.DELIVERED, 1)


# Claims and fences


def reopened(buy: Any, state: State = State.PENDING) -> Fulfilment:
    """A delivery in the given state after its first attempt."""
    buy("fail_always")
    Fulfilment.objects.update(state=state)
    return Fulfilment.objects.select_related("transaction").get()


@pytest.mark.parametrize("state", [State.PENDING, State.FAILED])
def test_of_two_claims_on_one_reading_one_wins(buy: Any, state: State) -> None:
    first = reopened(buy, state)
    second = Fulfilment.objects.get()
    assert claim(first)
    assert not claim(second)
    assert (first.attempts, the_row().attempts) == (2, 2)


def test_a_reading_that_is_out_of_date_wins_no_claim(buy: Any) -> None:
    stale = reopened(buy)
    buy("fail_always")
    assert (the_row().state, the_row().attempts) == (State.FAILED, 2)
    assert not claim(stale)


@pytest.mark.parametrize("state", [State.DELIVERED, State.HELD, State.REJECTED])
def test_what_is_over_cannot_be_claimed(buy: Any, state: State) -> None:
    row = reopened(buy, state)
    let_time_pass(10 * HOUR)
    assert not claim(row)


def test_a_lease_holds_until_its_end(buy: Any, configure: Any) -> None:
    row = reopened(buy)
    configure(LEASE=60)
    assert claim(row)
    let_time_pass(50)
    assert not claim(the_row())
    let_time_pass(11)
    assert claim(the_row())


def test_a_claimer_that_slept_past_its_lease_runs_nothing(buy: Any, configure: Any) -> None:
    sleeper = reopened(buy)
    configure(HANDLER="tests.support.goods.handlers.give")
    assert claim(sleeper)
    let_time_pass(HOUR)
    rival = Fulfilment.objects.select_related("transaction").get()
    assert claim(rival)
    assert deliver(sleeper, door=Door.SWEEP) is Outcome.DELIVERING
    assert not Good.objects.exists(), "fenced off: zero rows, and the handler did not run"
    assert deliver(rival, door=Door.SWEEP) is Outcome.DELIVERED
    assert deliver(sleeper, door=Door.SWEEP) is Outcome.DELIVERING
    assert Good.objects.get().attempt == rival.attempts == 3


def test_a_failure_past_the_lease_does_not_undo_the_rivals_delivery(
    buy: Any, configure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler raises after another attempt has delivered: the answer is "delivered"."""
    sleeper = reopened(buy)
    assert claim(sleeper)
    let_time_pass(HOUR)
    rival = Fulfilment.objects.select_related("transaction").get()
    assert claim(rival)
    configure(HANDLER="tests.support.goods.handlers.give")
    assert deliver(rival, door=Door.SWEEP) is Outcome.DELIVERED
    told = failed_delivery.record_failure(sleeper, RuntimeError("late"), Door.SWEEP, at_commit=True)
    assert told is Outcome.ALREADY_DELIVERED
    assert (the_row().state, the_row().last_error) == (State.DELIVERED, "")


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        (State.DELIVERED, Outcome.ALREADY_DELIVERED),
        (State.FAILED, Outcome.DELIVERY_FAILED),
        (State.HELD, Outcome.HELD),
        (State.REJECTED, Outcome.REJECTED),
        (State.DELIVERING, Outcome.DELIVERING),
    ],
)
def test_who_waits_for_a_delivery_is_told_what_became_of_it(
    buy: Any, monkeypatch: pytest.MonkeyPatch, state: State, outcome: Outcome
) -> None:
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 0.05)
    assert await_delivery(reopened(buy, state)) is outcome


def test_the_timeline_tells_each_attempt(buy: Any) -> None:
    buy("fail_first")
    buy("fail_first")
    kinds = list(Event.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds == [
        EventKind.VERIFIED, EventKind.ACCEPTED, EventKind.DELIVERY_FAILED, EventKind.DELIVERED,
    ]  # fmt: skip
