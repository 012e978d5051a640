"""How many statements and calls to the service each door needs for a payment that is settled."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from payments_pages.choices import FulfilmentState
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from tests.conftest import expect_payment
from tests.support.webhook_signing import event, post

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_webhook")]


def by_callback(client: Client, page: PaymentPage, reference: str) -> Any:
    return client.get(f"/payments/callback/{page.token}/?reference={reference}")


def by_confirm(client: Client, _page: PaymentPage, reference: str) -> Any:
    body = {"reference": reference}
    return client.post("/payments/confirm/", body, content_type="application/json")


def by_webhook(_client: Client, _page: PaymentPage, reference: str) -> Any:
    return post(event(reference))


@pytest.mark.parametrize(
    ("door", "statements", "status"),
    [
        (by_callback, 2, 303),
        (by_confirm, 2, 200),
        (by_webhook, 3, 200),  # each sending has a line in the timeline
    ],
)
def test_a_settled_payment_is_answered_by_two_small_queries(
    tea_box: PaymentPage,
    sandbox: Sandbox,
    client: Client,
    django_assert_num_queries: Any,
    door: Callable[..., Any],
    statements: int,
    status: int,
) -> None:
    expect_payment("PPG-1", page=tea_box)
    sandbox.pay("tea-box", reference="PPG-1")
    confirm_payment("PPG-1")
    with django_assert_num_queries(statements):
        response = door(client, tea_box, "PPG-1")
    assert response.status_code == status
    assert sandbox.verify_calls() == 1
    assert Fulfilment.objects.get().attempts == 1


def test_a_first_webhook_needs_no_more_than_a_first_callback(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client
) -> None:
    costs = []
    # The first two of them also look whether the tables belong to this site.
    for number, door in enumerate((by_callback, by_webhook) * 2):
        reference = f"PPG-{number}"
        expect_payment(reference, page=tea_box)
        sandbox.pay("tea-box", reference=reference)
        with CaptureQueriesContext(connection) as queries:
            assert door(client, tea_box, reference).status_code in {200, 303}
        costs.append(len(queries))
    delivered = Fulfilment.objects.filter(state=FulfilmentState.DELIVERED)
    assert (delivered.count(), sandbox.verify_calls()) == (4, 4)
    assert costs[3] <= costs[2]
