"""Trap 3: an IntegrityError that is no duplicate is a fault, and nobody else has done the work."""

import pytest
from django.db import transaction as db_transaction
from django.db.utils import IntegrityError

from payments_pages.choices import Door, FulfilmentState, Outcome, VerificationState
from payments_pages.confirmation import confirm_payment, confirm_payment_on_commit, sweep_due
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment
from tests.reliability.traps.interference import refused
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)


def confirm(reference: str, page: PaymentPage) -> Outcome:
    return confirm_payment(reference, door=Door.CALLBACK, page_token=page.token).outcome


def test_trap_3_where_a_reference_is_received(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    """In `verification.receive`."""
    sandbox.pay("tea-box", reference="PPG-3")
    with (
        refused("INSERT INTO payments_pages_verification") as statements,
        pytest.raises(IntegrityError),
    ):
        confirm("PPG-3", tea_box)
    assert len(statements) == 1
    assert sandbox.verify_calls() == 0
    assert not Verification.objects.exists()
    assert confirm("PPG-3", tea_box) is Outcome.DELIVERED


def test_trap_3_where_a_reference_is_noted(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    """In `inbox.remember`: the merchant's order fails with it, and is not left without it."""
    sandbox.pay("tea-box", reference="PPG-3")

    def order() -> None:
        with db_transaction.atomic():
            expect_payment("PPG-3")
            confirm_payment_on_commit("PPG-3")

    with refused("INSERT INTO payments_pages_verification"), pytest.raises(IntegrityError):
        order()
    assert sandbox.verify_calls() == 0
    assert not ExpectedPayment.objects.exists()
    order()
    assert Good.objects.count() == 1


@pytest.mark.parametrize("table", ["expectedpayment", "verification"])
def test_trap_3_where_a_payment_is_expected(
    tea_box: PaymentPage, sandbox: Sandbox, table: str
) -> None:
    """In `ExpectedPayment.objects.expect`, at either of its rows: both are there or neither is."""
    with (
        refused(f"INSERT INTO payments_pages_{table}") as statements,
        pytest.raises(IntegrityError),
    ):
        ExpectedPayment.objects.expect(amount=10000, currency="ILS")
    assert len(statements) == 1, "another reference would not have helped"
    assert not ExpectedPayment.objects.exists()
    assert not Verification.objects.exists()


@pytest.mark.parametrize("table", ["transaction", "fulfilment"])
def test_trap_3_where_an_answer_is_recorded(
    tea_box: PaymentPage, sandbox: Sandbox, table: str
) -> None:
    """In `recording.record`: the reference is not settled, and a later caller asks again."""
    sandbox.pay("tea-box", reference="PPG-3")
    with refused(f"INSERT INTO payments_pages_{table}"):
        assert confirm("PPG-3", tea_box) is Outcome.UNAVAILABLE
    row = Verification.objects.get()
    assert row.state == VerificationState.DUE
    assert row.last_error.startswith("Not recorded: IntegrityError at ")
    for model in (Transaction, Fulfilment, Event, Good):
        assert not model.objects.exists(), model
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED
    assert Good.objects.count() == 1
