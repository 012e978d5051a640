"""Reads go to a replica that is behind: nothing is delivered twice, nothing is told wrongly."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, Outcome
from payments_pages.choices import FulfilmentState as State
from payments_pages.confirmation import confirm_payment, oldest_due, sweep_due
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment
from tests.support.goods.models import Good

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "replica"]),
]

OURS = (PaymentPage, ExpectedPayment, Verification, Transaction, Fulfilment, Event)


@pytest.fixture(autouse=True)
def replica(settings: Any) -> None:
    settings.DATABASE_ROUTERS = ["tests.integration.routing.routers.ReadsFromReplica"]


@pytest.fixture
def sold(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> str:
    """A paid reference, and a handler that follows relations."""
    configure(HANDLER="tests.integration.routing.handlers.give_what_the_page_sells")
    return sandbox.pay("tea-box", reference="PPG-1012")


def catch_up() -> None:
    """Let the replica have all that there is, once; from then on it is behind."""
    for model in OURS:
        model._default_manager.using("replica").bulk_create(
            model._default_manager.using("default").order_by("pk")
        )


def goods() -> int:
    return Good.objects.using("default").count()


def test_reads_do_go_to_the_replica(sold: str, tea_box: PaymentPage) -> None:
    """The control: without care, everything looks as if nothing had been paid."""
    confirm_payment(sold, door=Door.CALLBACK, page_token=tea_box.token)
    assert Fulfilment.objects.count() == Transaction.objects.count() == 0
    assert Fulfilment.objects.using("default").count() == 1


def test_an_empty_replica_costs_no_second_call_and_no_second_delivery(
    sold: str, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    outcomes = [
        confirm_payment(sold, door=Door.CALLBACK, page_token=tea_box.token).outcome
        for _time in range(3)
    ]
    assert outcomes == [Outcome.DELIVERED, Outcome.ALREADY_DELIVERED, Outcome.ALREADY_DELIVERED]
    let_time_pass(3600)
    assert sweep_due().taken == 0
    assert goods() == 1
    assert sandbox.verify_calls(sold) == 1


def test_a_payer_sees_what_is_true_at_once(
    sold: str, tea_box: PaymentPage, come_back: Any, client: Client
) -> None:
    response = come_back(sold, tea_box)
    assert response.status_code == 303
    result = client.get(response.headers["Location"])
    assert b'pp-page--paid"' in result.content


def test_an_expected_payment_is_found_though_the_replica_has_none(
    sold: str, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.give")
    expect_payment(sold)
    assert confirm_payment(sold, door=Door.CONFIRM).outcome is Outcome.DELIVERED


def test_a_failed_delivery_that_the_replica_still_shows_is_not_made_again(
    sold: str, tea_box: PaymentPage, configure: Any
) -> None:
    configure(HANDLER="tests.integration.routing.handlers.fail_first")
    assert confirm_payment(sold, door=Door.CALLBACK, page_token=tea_box.token).outcome is (
        Outcome.DELIVERY_FAILED
    )
    let_time_pass(60)
    catch_up()
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    stale = Fulfilment.objects.get()
    assert stale.state == State.FAILED, "the replica says that it is to be made"
    assert sweep_due().taken == 0
    assert oldest_due() is None
    assert decisions.retry(stale.transaction, actor="dana") is None
    assert confirm_payment(sold, door=Door.CALLBACK).outcome is Outcome.ALREADY_DELIVERED
    assert goods() == 1


def test_staff_decide_once_about_what_the_replica_still_holds(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference="PPG-1", amount=9000)
    found = confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.HELD
    catch_up()
    stale = Fulfilment.objects.select_related("transaction").get()
    assert decisions.approve(stale.transaction, actor="dana", note="agreed") is Outcome.DELIVERED
    assert decisions.approve(stale.transaction, actor="omar", note="agreed") is None
    assert not decisions.reject(stale.transaction, actor="omar", note="no")
    assert goods() == 1


def test_the_admin_acts_on_the_primary(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client
) -> None:
    sandbox.pay("tea-box", reference="PPG-1", amount=9000)
    confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token)
    catch_up()
    client.force_login(get_user_model().objects.create_superuser("dana"))
    pk = Transaction.objects.get().pk
    address = reverse("admin:payments_pages_transaction_changelist")
    assert client.get(address).status_code == 200
    form = {"action": "approve_held", "_selected_action": pk}
    seen = client.post(address, form).context["rows"][0]["seen"]
    for _time in range(2):
        more = {"confirmed": "1", "note": "agreed", "seen": seen}
        assert client.post(address, {**form, **more}).status_code == 302
    assert Fulfilment.objects.using("default").get().state == State.DELIVERED
    assert goods() == 1
