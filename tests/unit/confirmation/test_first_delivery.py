"""The first delivery is one transaction with its record, or neither is kept."""

import logging
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.db import foreign_keys_lock
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.handlers import give
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

SEEN: list[Any] = []
RECORDED_FIRST = "mysql" in connection.settings_dict["ENGINE"]


@pytest.fixture(autouse=True)
def _empty() -> None:
    SEEN.clear()


def look_and_give(fulfilment: Fulfilment) -> None:
    """Note what there is while the handler runs, and give."""
    asked = Verification.objects.get()
    SEEN.append((
        fulfilment.state, fulfilment.attempts, fulfilment.delivered_at is not None,
        Transaction.objects.count(), asked.state,
    ))  # fmt: skip
    give(fulfilment)


def give_and_fail(fulfilment: Fulfilment) -> None:
    SEEN.append(fulfilment.attempts)
    give(fulfilment)
    raise RuntimeError("no stock")


def give_and_break_a_rule(fulfilment: Fulfilment) -> None:
    """Raise an error of the database that no second try would mend."""
    SEEN.append(fulfilment.attempts)
    give(fulfilment)
    raise IntegrityError("a rule of the shop's")


def give_and_stop_the_process(fulfilment: Fulfilment) -> None:
    give(fulfilment)
    raise KeyboardInterrupt


@pytest.fixture
def buy(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> Any:
    def run(handler: str, **settings: Any) -> Outcome:
        configure(HANDLER=f"{__name__}.{handler}", **settings)
        reference = sandbox.pay("tea-box")
        return confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token).outcome

    return run


def kinds() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("kind", flat=True))


def test_where_keys_lock_rows_is_known() -> None:
    assert foreign_keys_lock(connection.alias) is RECORDED_FIRST


def test_the_handler_sees_the_payment_as_delivered(buy: Any) -> None:
    assert buy("look_and_give") is Outcome.DELIVERED
    ((state, attempts, has_time, payments, asked),) = SEEN
    assert (state, attempts, payments, asked) == ("delivered", 1, 1, "settled")
    assert has_time is not RECORDED_FIRST, "where it is recorded first, the object is older"
    assert kinds() == ["verified", "accepted", "delivered"]
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts, row.next_at) == (FulfilmentState.DELIVERED, 1, None)
    assert row.delivered_at is not None


@pytest.mark.parametrize("handler", ["give_and_fail", "give_and_break_a_rule"])
def test_a_handler_that_fails_is_run_once_and_the_answer_is_recorded_by_itself(
    buy: Any, handler: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="payments_pages"):
        assert buy(handler) is Outcome.DELIVERY_FAILED
    assert SEEN == [1]
    assert not Good.objects.exists()
    assert kinds() == ["verified", "accepted", "delivery_failed"]
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts) == (FulfilmentState.FAILED, 1)
    assert row.next_at is not None
    assert ("no stock" in row.last_error) is (handler == "give_and_fail")
    assert Verification.objects.get().state == "settled"
    assert Transaction.objects.get().status == "success"
    said = [one.message.split(":")[0] for one in caplog.records]
    ours = [name for name in said if name.startswith(("payment.", "fulfilment."))]
    assert ours == ["payment.recorded", "fulfilment.failed"]


def test_a_handler_that_cannot_be_imported_fails_after_the_record(buy: Any) -> None:
    assert buy("nothing_of_this_name") is Outcome.DELIVERY_FAILED
    assert kinds() == ["verified", "accepted", "delivery_failed"]


@pytest.mark.skipif(RECORDED_FIRST, reason="there the answer is recorded before the handler runs")
def test_if_the_process_ends_in_the_handler_nothing_is_kept_but_the_claim(
    buy: Any, tea_box: PaymentPage
) -> None:
    with pytest.raises(KeyboardInterrupt):
        buy("give_and_stop_the_process")
    assert not Transaction.objects.exists()
    assert not Good.objects.exists()
    assert kinds() == []
    asked = Verification.objects.get()
    assert (asked.state, asked.attempts) == ("verifying", 1)
    let_time_pass(60)
    # The second ask records first: a handler that ends its process is counted by its attempts.
    with pytest.raises(KeyboardInterrupt):
        confirm_payment(asked.reference, door=Door.SWEEP, refresh=True)
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts) == (FulfilmentState.DELIVERING, 1)


def fail_after_commit(fulfilment: Fulfilment) -> None:
    def send_mail() -> None:
        raise ValueError("no such address")

    SEEN.append(fulfilment.attempts)
    give(fulfilment)
    transaction.on_commit(send_mail)


def test_a_hook_that_fails_after_the_commit_leaves_it_delivered_and_told(
    buy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="payments_pages"):
        assert buy("fail_after_commit") is Outcome.DELIVERED
    assert SEEN == [1]
    assert Good.objects.count() == 1
    said = {one.message.split(":")[0] for one in caplog.records}
    assert {"payment.recorded", "fulfilment.error_after_delivery", "fulfilment.delivered"} <= said
    assert kinds() == ["verified", "accepted", "delivered"]


@pytest.mark.parametrize(
    ("changes", "asked_before"),
    [({"HANDLER_ATOMIC": False}, False), ({}, True)],
    ids=["external handler", "asked before"],
)
def test_everything_else_records_first(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any, changes: Any, asked_before: bool
) -> None:
    """The payment is there while the handler runs, on another connection, too."""
    configure(HANDLER=f"{__name__}.look_and_give", **changes)
    reference = sandbox.pay("tea-box", status="pending" if asked_before else "success")
    if asked_before:
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
        sandbox.set_transaction(reference, status="success")
        let_time_pass(60)
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED
    ((state, attempts, has_time, _payments, _asked),) = SEEN
    assert state == ("delivering" if changes else "delivered")
    assert (attempts, has_time) == (1, False)
