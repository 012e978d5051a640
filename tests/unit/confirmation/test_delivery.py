"""An external handler runs under the lease, at least once, with one key; late attempts write nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import InterfaceError, connection

from payments_pages.choices import Door, Outcome
from payments_pages.choices import FulfilmentState as State
from payments_pages.confirmation import Confirmation, confirm_payment, renew_lease, sweep_due
from payments_pages.confirmation.delivery import deliver
from payments_pages.confirmation.fulfilment import claim
from payments_pages.db import transient
from payments_pages.models import Event, Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.external import CALLS, RENEWED
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3600


@pytest.fixture(autouse=True)
def outside_world() -> Iterator[None]:
    CALLS.clear()
    RENEWED.clear()
    yield
    CALLS.clear()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transient, "_PAUSES", (0, 0, 0))


@pytest.fixture
def buy(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> Any:
    """Pay for the tea box and confirm it, with a handler of `tests.support.goods.external`."""

    def run(handler: str = "call", reference: str = "PPG-1012", **keys: Any) -> Confirmation:
        handler_path = f"tests.support.goods.external.{handler}"
        configure(HANDLER=handler_path, HANDLER_ATOMIC=False, **keys)
        if sandbox.transaction(reference) is None:
            sandbox.pay("tea-box", reference=reference)
        return confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)

    return run


def the_row() -> Fulfilment:
    return Fulfilment.objects.select_related("transaction").get()


def test_it_runs_once_with_no_transaction_open(buy: Any) -> None:
    assert buy().outcome is Outcome.DELIVERED
    assert buy().outcome is Outcome.ALREADY_DELIVERED
    row = the_row()
    assert list(CALLS) == [(row.idempotency_key, 1, False)]
    assert (row.state, row.attempts, row.next_at) == (State.DELIVERED, 1, None)
    assert row.delivered_at is not None
    kinds = list(Event.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds == ["verified", "accepted", "delivered"]


def test_an_atomic_handler_runs_inside_one(buy: Any, configure: Any) -> None:
    """The control for the test above: its flag can be true."""
    buy("fail_first")
    configure(HANDLER="tests.support.goods.external.call", HANDLER_ATOMIC=True)
    let_time_pass(20)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert [call.inside_transaction for call in CALLS] == [False, True]


def test_what_it_did_outside_stays_and_the_next_attempt_has_the_same_key(buy: Any) -> None:
    assert buy("fail_first").outcome is Outcome.DELIVERY_FAILED
    row = the_row()
    assert (row.state, row.last_error) == (State.FAILED, "RuntimeError: the outside world said no")
    assert row.delivered_at is None
    assert Good.objects.count() == 1, "no transaction of ours was open: nothing was rolled back"
    let_time_pass(20)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert [call.attempt for call in CALLS] == [1, 2]
    assert {call.key for call in CALLS} == {row.idempotency_key}


def test_who_slept_past_the_lease_before_the_handler_does_not_run_it(buy: Any) -> None:
    buy("fail_first")
    sleeper = the_row()
    assert claim(sleeper)
    let_time_pass(HOUR)
    assert deliver(sleeper, door=Door.SWEEP) is Outcome.DELIVERING
    assert [call.attempt for call in CALLS] == [1], "not beside a later attempt, were there one"
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert [call.attempt for call in CALLS] == [1, 3]


def test_a_completion_after_the_lease_is_logged_and_does_nothing(
    buy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert buy("oversleep_first").outcome is Outcome.DELIVERING
    assert [call.attempt for call in CALLS] == [1, 2], "at least once: the promise says twice"
    assert len({call.key for call in CALLS}) == 1
    row = the_row()
    assert (row.state, row.attempts) == (State.DELIVERED, 2)
    assert list(Event.objects.filter(kind="delivered").values_list("detail", flat=True)) == [
        "attempt 2"
    ]
    assert "fulfilment.fenced_off: PPG-1012: attempt 1 came too late" in caplog.text


# The lease


def test_long_work_keeps_its_lease_by_renewing_it_and_hears_when_it_is_lost(buy: Any) -> None:
    assert buy("work_long", LEASE=60).outcome is Outcome.DELIVERY_FAILED
    assert RENEWED == [True, True, False]
    assert the_row().last_error == "RuntimeError: the lease is lost"


def test_a_renewed_lease_keeps_rivals_out(buy: Any, configure: Any) -> None:
    buy("fail_first", LEASE=60)
    holder = the_row()
    assert claim(holder)
    let_time_pass(50)
    assert renew_lease(holder)
    let_time_pass(50)
    assert not claim(the_row()), "100 seconds later, but renewed after 50"
    let_time_pass(11)
    rival = the_row()
    assert claim(rival)
    assert not renew_lease(holder), "fenced off"
    assert renew_lease(rival)


def test_a_lease_cannot_be_renewed_inside_a_transaction(buy: Any) -> None:
    assert buy("renew_inside_a_transaction").outcome is Outcome.DELIVERY_FAILED
    assert the_row().last_error.startswith("OpenTransactionError: renew_lease() was called inside")


def test_an_atomic_handler_has_nothing_to_renew(buy: Any, configure: Any) -> None:
    buy("fail_first")
    configure(
        HANDLER="tests.support.goods.external.renew_inside_a_transaction", HANDLER_ATOMIC=True
    )
    let_time_pass(20)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


# The record of what is done


@contextmanager
def cut_lines(times: int) -> Iterator[list[str]]:
    """Cut the database connection when `delivered` is set, for the given number of times."""
    seen: list[str] = []

    def cut(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if "UPDATE" in sql and "delivered_at" in sql and len(seen) < times:
            seen.append(sql)
            raise InterfaceError("connection already closed")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(cut):
        yield seen


def test_a_line_cut_at_the_record_costs_no_second_call(buy: Any) -> None:
    with cut_lines(2) as seen:
        assert buy().outcome is Outcome.DELIVERED
    assert len(seen) == 2
    assert len(CALLS) == 1
    assert (the_row().state, the_row().attempts) == (State.DELIVERED, 1)


def test_what_can_never_be_recorded_is_done_again_with_the_same_key(buy: Any) -> None:
    with cut_lines(99):
        assert buy().outcome is Outcome.DELIVERY_FAILED
    assert len(CALLS) == 1
    assert the_row().state == State.FAILED
    let_time_pass(20)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert [call.attempt for call in CALLS] == [1, 2]
    assert len({call.key for call in CALLS}) == 1


def test_a_commit_whose_answer_is_lost_is_found(buy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state was committed, and the connection was cut before the answer came."""
    commit = connection.commit

    def deaf() -> None:
        commit()
        if CALLS and not cut:
            cut.append(True)
            raise InterfaceError("connection already closed")

    cut: list[bool] = []
    monkeypatch.setattr(connection, "commit", deaf)
    assert buy().outcome is Outcome.DELIVERED
    assert cut == [True]
    assert len(CALLS) == 1
    assert (the_row().state, the_row().attempts) == (State.DELIVERED, 1)
