"""C24: a burst of notices on a database that may have one writer; none is lost or half done."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from payments_pages.confirmation import sweep_due
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment, in_thread
from tests.support.goods.handlers import give
from tests.support.goods.models import Good
from tests.support.webhook_signing import HEADER, SECRET, event, post

pytestmark = pytest.mark.django_db(transaction=True)

RIVALS = 8
TRIES = 4
"""Send each message; repeat one that was not answered with 2xx up to three times."""
ANSWERED = {200, 303}
SERIALIZABLE = os.environ.get("TESTS_ISOLATION") == "serializable"

Send = Callable[[str], int]


def give_in_a_while(fulfilment: Fulfilment) -> None:
    """Give, and keep the database's only writer for as long as the case says."""
    give(fulfilment)
    time.sleep(0.3)


@pytest.fixture(autouse=True)
def place(sandbox: Sandbox, configure: Any) -> None:
    configure(
        HANDLER=f"{__name__}.give_in_a_while",
        WEBHOOK_HEADER=HEADER,
        WEBHOOK_ALGORITHM="sha256",
        WEBHOOK_SECRETS=(SECRET,),
        MAX_CALLS=RIVALS,  # the case is about the database, not about the load on the service
    )


@pytest.fixture
def orders(tea_box: PaymentPage, sandbox: Sandbox) -> list[str]:
    references = [f"PPG-24-{number}" for number in range(RIVALS)]
    for reference in references:
        expect_payment(reference)
        sandbox.pay("tea-box", reference=reference)
    return references


def by_webhook(reference: str) -> int:
    return post(event(reference), client=Client(raise_request_exception=False)).status_code


def by_callback(reference: str) -> int:
    client = Client(raise_request_exception=False)
    return client.get(reverse("payments_pages:callback"), {"reference": reference}).status_code


def burst(sends: list[tuple[Send, str]]) -> list[list[int]]:
    """Send all at the same moment, each again until it is answered; return what each was told."""
    start = threading.Barrier(len(sends))

    def send(by: Send, reference: str) -> list[int]:
        start.wait(timeout=20)
        statuses: list[int] = []
        while len(statuses) < TRIES and not ANSWERED.intersection(statuses):
            statuses.append(by(reference))
            time.sleep(0.1)
        return statuses

    sending = [in_thread(lambda one=one: send(*one)) for one in sends]
    return [rival.result(timeout=120) for rival in sending]


def sweep_if_serializable() -> None:
    """There rivals undo each other again and again: what the doors left open is due."""
    if SERIALIZABLE:
        let_time_pass(3600)
        sweep_due()


def delivered_once_each(references: list[str]) -> None:
    goods = Counter(Good.objects.values_list("reference", flat=True))
    assert goods == dict.fromkeys(references, 1)
    assert Fulfilment.objects.filter(state="delivered").count() == len(references)
    for model in (Fulfilment, Transaction, Verification):
        assert model.objects.count() == len(references), model


def test_c24_eight_webhooks_at_once_are_answered_200_or_503_and_delivered_once_each(
    orders: list[str],
) -> None:
    told = burst([(by_webhook, reference) for reference in orders])
    assert {status for statuses in told for status in statuses} <= {200, 503}
    assert SERIALIZABLE or all(statuses[-1] == 200 for statuses in told)
    sweep_if_serializable()
    delivered_once_each(orders)


def test_c24_callbacks_and_webhooks_mixed_are_delivered_once_each(orders: list[str]) -> None:
    """Two of each reference, by either door."""
    sends: list[tuple[Send, str]] = [
        (by, reference) for reference in orders[:4] for by in (by_webhook, by_callback)
    ]
    told = burst(sends)
    # A callback's 200 is the page "we cannot confirm right now", which the sweep makes true.
    assert {status for statuses in told for status in statuses} <= {200, 303, 503}
    webhooks = told[::2]
    assert SERIALIZABLE or all(statuses[-1] == 200 for statuses in webhooks)
    sweep_if_serializable()
    delivered_once_each(orders[:4])


def test_c24_one_reference_eight_times_is_delivered_once(
    orders: list[str], sandbox: Sandbox
) -> None:
    told = burst([(by, orders[0]) for by in (by_webhook, by_callback) * (RIVALS // 2)])
    assert {status for statuses in told for status in statuses} <= {200, 303, 503}
    sweep_if_serializable()
    delivered_once_each(orders[:1])
    assert SERIALIZABLE or sandbox.verify_calls(orders[0]) == 1
