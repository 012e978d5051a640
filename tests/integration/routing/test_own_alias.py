"""The app's rows may live under an alias of their own; every guard is set there."""

from typing import Any

import pytest
from django.db import transaction as db_transaction
from django.test import Client

from payments_pages.choices import Door, Outcome
from payments_pages.choices import FulfilmentState as State
from payments_pages.confirmation import confirm_payment, confirm_payment_on_commit, sweep_due
from payments_pages.exceptions import OpenTransactionError
from payments_pages.models import Event, Fulfilment, PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "payments"]),
]


@pytest.fixture(autouse=True)
def payments(settings: Any) -> None:
    settings.DATABASE_ROUTERS = ["tests.integration.routing.routers.OwnAlias"]


@pytest.fixture
def sold(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> str:
    configure(HANDLER="tests.integration.routing.handlers.give_what_the_page_sells")
    return sandbox.pay("tea-box", reference="PPG-1012")


def test_all_rows_are_there_and_none_elsewhere(sold: str, tea_box: PaymentPage) -> None:
    found = confirm_payment(sold, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED
    for model in (PaymentPage, Verification, Fulfilment, Event, Good):
        manager = model._default_manager
        assert manager.using("payments").exists(), model
        assert not manager.using("default").exists(), model


def test_what_a_handler_writes_there_is_rolled_back_with_the_delivery(
    sold: str, tea_box: PaymentPage, configure: Any
) -> None:
    configure(HANDLER="tests.integration.routing.handlers.fail_first")
    found = confirm_payment(sold, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERY_FAILED
    assert not Good.objects.exists()
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.get().attempt == 2


def test_an_external_handler_is_recorded_there(
    sold: str, tea_box: PaymentPage, configure: Any
) -> None:
    configure(HANDLER_ATOMIC=False)
    found = confirm_payment(sold, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED
    assert Fulfilment.objects.get().state == State.DELIVERED


def test_staff_decide_there(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    sandbox.pay("tea-box", reference="PPG-1", amount=9000)
    confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token)
    held = Fulfilment.objects.select_related("transaction").get()
    assert decisions.approve(held.transaction, actor="dana", note="agreed") is Outcome.DELIVERED


@pytest.mark.parametrize("alias", ["default", "payments"])
def test_a_transaction_on_either_database_is_refused(sold: str, alias: str) -> None:
    with db_transaction.atomic(using=alias), pytest.raises(OpenTransactionError):
        confirm_payment(sold, door=Door.CALLBACK)


def test_a_reference_noted_in_a_transaction_there_is_confirmed_after_it(
    sold: str, tea_box: PaymentPage
) -> None:
    with db_transaction.atomic(using="payments"):
        confirm_payment_on_commit(sold)
        assert not Fulfilment.objects.exists()
    assert Fulfilment.objects.get().reason == "unattributed"
    found = confirm_payment(sold, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED


def test_doors_and_results_read_there(
    sold: str, tea_box: PaymentPage, come_back: Any, client: Client
) -> None:
    response = come_back(sold, tea_box)
    assert b'pp-page--paid"' in client.get(response.headers["Location"]).content
