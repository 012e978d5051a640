"""The one alarm: for how long the oldest due row has been waiting."""

from typing import Any

import pytest
from django.db import connections
from django.http import HttpResponse
from django.test import Client
from django.urls import NoReverseMatch, reverse

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment, oldest_due
from payments_pages.models import ExpectedPayment, Fulfilment, PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.door_behaviour import pay
from tests.support.webhook_signing import said

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.unit.views.monitored_urls")]


def look(method: str = "get", client: Client | None = None) -> HttpResponse:
    response: HttpResponse = getattr(client or Client(), method)("/health/")
    return response


def age() -> float:
    found = oldest_due()
    assert found is not None
    return found.total_seconds()


def test_a_site_with_nothing_due_is_well(sandbox: Sandbox) -> None:
    answer = look()
    assert answer.status_code == 200
    assert said(answer) == {"oldest_due_seconds": 0, "overdue": False}
    assert answer.headers["Cache-Control"] == "no-store, private"
    assert oldest_due() is None


def test_what_is_to_come_is_not_due(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    ExpectedPayment.objects.expect(amount=10000, currency="ILS")
    assert oldest_due() is None
    let_time_pass(121)
    assert 1 <= age() < 20


def test_a_reference_that_nobody_asks_about_again_raises_the_alarm(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    sandbox.faults.add(operation="verify", kind="drop")
    confirm_payment(pay(sandbox), door=Door.WEBHOOK)
    let_time_pass(200)
    assert look().status_code == 200
    let_time_pass(200)
    answer = look()
    assert answer.status_code == 503
    assert said(answer)["overdue"] is True
    assert 385 <= said(answer)["oldest_due_seconds"] <= 420
    configure(OVERDUE=3600)
    assert look().status_code == 200


def test_a_delivery_that_nobody_tries_again_raises_it_too(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    confirm_payment(pay(sandbox), door=Door.WEBHOOK)
    assert not Verification.objects.due().exists()
    let_time_pass(1000)
    assert Fulfilment.objects.due().exists()
    assert said(look())["overdue"] is True


def test_the_oldest_of_all_counts(sandbox: Sandbox, tea_box: PaymentPage, configure: Any) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    confirm_payment(pay(sandbox), door=Door.WEBHOOK)
    let_time_pass(5000)
    sandbox.faults.add(operation="verify", kind="drop")
    confirm_payment(pay(sandbox), door=Door.WEBHOOK)
    let_time_pass(1000)
    assert 5900 < age() < 6000


def test_what_is_settled_held_or_given_up_is_not_due(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    for fields in ({}, {"amount": 1}):
        confirm_payment(pay(sandbox, **fields), door=Door.WEBHOOK)
    Verification.objects.create(
        reference="OLD", reference_key="0" * 64, mode="test", state="lapsed", first_door="sweep"
    )
    let_time_pass(10 * 24 * 3600)
    assert oldest_due() is None


@pytest.mark.parametrize("method", ["post", "put", "delete", "options"])
def test_it_is_only_looked_at(sandbox: Sandbox, method: str) -> None:
    answer = look(method, Client(enforce_csrf_checks=True))
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_a_monitor_may_ask_by_head(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    assert look("head").status_code == 200
    sandbox.faults.add(operation="verify", kind="drop")
    confirm_payment(pay(sandbox), door=Door.WEBHOOK)
    let_time_pass(1000)
    assert look("head").status_code == 503


@pytest.mark.django_db(transaction=True)
def test_a_monitor_needs_no_login_and_opens_no_transaction(
    sandbox: Sandbox, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE,
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ]
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    assert look().status_code == 200


@pytest.mark.urls("tests.support.urls")
def test_it_is_off_unless_it_is_included(sandbox: Sandbox) -> None:
    with pytest.raises(NoReverseMatch):
        reverse("payments_pages:health")
    assert Client().get("/payments/health/").status_code == 404
