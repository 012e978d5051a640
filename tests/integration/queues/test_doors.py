"""Where deliveries are queued, a door claims none: it sends the bare reference and answers."""

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse

from payments_pages.choices import Door, Outcome
from payments_pages.choices import FulfilmentState as State
from payments_pages.confirmation import (
    Confirmation,
    background,
    confirm_payment,
    nudging,
    oldest_due,
    sweep_due,
)
from payments_pages.db import from_now
from payments_pages.exceptions import ConfigurationError, OpenTransactionError
from payments_pages.models import Fulfilment, PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment
from tests.integration.queues.senders import SEEN, SENT
from tests.support import webhook_signing
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def queued(sandbox: Sandbox, configure: Any) -> Iterator[None]:
    configure(DELIVERY="queued", NUDGE="tests.integration.queues.senders.keep")
    SENT.clear()
    SEEN.clear()
    yield
    SENT.clear()
    SEEN.clear()


@pytest.fixture
def buy(tea_box: PaymentPage, sandbox: Sandbox) -> Any:
    def run(reference: str = "PPG-1012", **fields: Any) -> Confirmation:
        if sandbox.transaction(reference) is None:
            sandbox.pay("tea-box", reference=reference, **fields)
        return confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)

    return run


def the_row() -> Fulfilment:
    return Fulfilment.objects.select_related("transaction").get()


def test_a_door_opens_the_delivery_and_leaves_it_to_a_worker(buy: Any) -> None:
    found = buy()
    assert found.outcome is Outcome.DELIVERING
    assert found.retry_after
    assert (the_row().state, the_row().attempts) == (State.PENDING, 0)
    assert not Good.objects.exists()
    assert SENT == ["PPG-1012"]
    assert oldest_due() is not None, "the row is due: the sweep would take it now"


def test_the_reference_is_sent_after_the_commit(buy: Any) -> None:
    buy()
    assert SEEN == [(False, 1)]


def test_a_worker_delivers_it_once_whatever_the_number_of_messages(
    buy: Any, sandbox: Sandbox
) -> None:
    buy()
    outcomes = [background.take_message(reference) for reference in SENT * 3]
    assert outcomes == [Outcome.DELIVERED, Outcome.ALREADY_DELIVERED, Outcome.ALREADY_DELIVERED]
    assert Good.objects.get().attempt == the_row().attempts == 1
    assert sandbox.verify_calls("PPG-1012") == 1, "the worker has no need to ask again"
    assert buy().outcome is Outcome.ALREADY_DELIVERED
    assert SENT == ["PPG-1012"], "what is delivered is not sent"


def test_a_lost_message_is_made_good_by_the_sweep(buy: Any) -> None:
    buy()
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == 1
    assert SENT == ["PPG-1012"], "the sweep delivers by itself"


def test_who_comes_back_sends_it_again(buy: Any, configure: Any) -> None:
    buy()
    assert buy().outcome is Outcome.DELIVERING
    configure(HANDLER="tests.support.goods.handlers.fail_first")
    assert background.take_message("PPG-1012") is Outcome.DELIVERY_FAILED
    assert buy().outcome is Outcome.DELIVERY_FAILED
    assert SENT == ["PPG-1012"] * 3
    assert background.take_message("PPG-1012") is Outcome.DELIVERED


def test_what_a_worker_is_at_is_neither_sent_nor_waited_for(buy: Any) -> None:
    buy()
    Fulfilment.objects.update(state=State.DELIVERING, next_at=_in_a_minute())
    started = time.monotonic()
    assert buy().outcome is Outcome.DELIVERING
    assert time.monotonic() - started < nudging.SLOW
    assert SENT == ["PPG-1012"]
    let_time_pass(61)
    buy()
    assert SENT == ["PPG-1012"] * 2, "its lease has ended: the worker is gone"


def _in_a_minute() -> Any:
    return from_now(60)


def test_what_is_held_is_not_sent_and_staff_deliver_it_here(buy: Any) -> None:
    assert buy(amount=9000).outcome is Outcome.HELD
    assert SENT == []
    assert (
        decisions.approve(the_row().transaction, actor="dana", note="agreed") is Outcome.DELIVERED
    )
    assert SENT == []
    assert Good.objects.count() == 1


def test_a_claim_that_lifts_a_hold_sends_it(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    """A webhook came first, and nothing said what was paid for."""
    sandbox.pay("tea-box", reference="PPG-1", metadata="")
    assert confirm_payment("PPG-1", door=Door.WEBHOOK).outcome is Outcome.HELD
    found = confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERING
    assert SENT == ["PPG-1"]


def test_a_payer_is_shown_that_it_is_on_its_way(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any, client: Any
) -> None:
    response: HttpResponse = come_back(sandbox.pay("tea-box"), tea_box)
    assert response.status_code == 303
    assert b'data-page="preparing"' in client.get(response.headers["Location"]).content


def test_a_webhook_is_answered_200_for_what_is_on_its_way(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    configure(
        WEBHOOK_HEADER=webhook_signing.HEADER,
        WEBHOOK_ALGORITHM="sha256",
        WEBHOOK_SECRETS=webhook_signing.SECRET,
    )
    reference = sandbox.pay("tea-box")
    expect_payment(reference)
    response = webhook_signing.post(webhook_signing.event(reference))
    assert (response.status_code, webhook_signing.said(response)) == (
        200,
        {"outcome": "delivering"},
    )
    assert list(SENT) == [reference]


# When sending fails


def test_a_nudge_that_raises_costs_the_payer_nothing(
    buy: Any, configure: Any, caplog: pytest.LogCaptureFixture
) -> None:
    configure(NUDGE="tests.integration.queues.senders.fail")
    assert buy().outcome is Outcome.DELIVERING
    assert "nudge.failed: PPG-1012: the sweep will take it" in caplog.text
    assert "hunter2" not in caplog.text
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


@pytest.mark.parametrize(
    "nudge", ["tests.nowhere.send", "tests.integration.queues.senders.not_callable", None]
)
def test_a_nudge_that_is_not_there_loses_no_payment(
    buy: Any, configure: Any, nudge: str | None
) -> None:
    configure(NUDGE=nudge)
    with pytest.raises(ConfigurationError):
        nudging.load_nudge()
    assert buy().outcome is Outcome.DELIVERING
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


def test_a_slow_nudge_is_logged(
    buy: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    buy()
    assert "nudge.slow" not in caplog.text
    monkeypatch.setattr(nudging, "SLOW", 0)
    buy()
    assert "nudge.slow: PPG-1012" in caplog.text


def test_nothing_is_sent_inside_a_transaction() -> None:
    with transaction.atomic(), pytest.raises(OpenTransactionError):
        nudging.send_nudge("PPG-1", door=Door.CALLBACK)
    assert SENT == []


def test_a_delivery_that_is_neither_stops_before_anything_is_asked(
    sandbox: Sandbox, configure: Any
) -> None:
    configure(DELIVERY="later")
    with pytest.raises(ConfigurationError):
        confirm_payment("PPG-1", door=Door.CALLBACK)
    assert not Verification.objects.exists()


# Messages


@pytest.mark.parametrize("reference", ["", "../page/1", "a b", "x" * 200])
def test_a_message_that_is_no_reference_does_nothing(sandbox: Sandbox, reference: str) -> None:
    assert background.take_message(reference) is None
    assert not Verification.objects.exists()


def test_a_forged_message_delivers_nothing(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    assert background.take_message("PPG-9999") is Outcome.UNKNOWN
    sandbox.pay("tea-box", reference="PPG-2", status="failed")
    assert background.take_message("PPG-2") is Outcome.NOT_PAID
    assert not Fulfilment.objects.exists()
    assert not Good.objects.exists()
