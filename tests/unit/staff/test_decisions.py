"""What staff decide: one signature, and nothing is done where a decision is not possible."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from payments_pages import staff
from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.staff import StaffDecision
from payments_pages.testing import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)

DECISIONS = (
    staff.verify, staff.retry, staff.approve, staff.reject, staff.attribute, staff.add_note,
)  # fmt: skip


@pytest.fixture
def unpaid(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """A payment that failed: there is nothing to deliver."""
    reference = sandbox.pay("tea-box", status="failed")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    return Transaction.objects.get()


@pytest.fixture
def held(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """A payment of less than the price, held for hours."""
    reference = sandbox.pay("tea-box", amount=9999)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(7200)
    return Transaction.objects.get()


def test_every_decision_has_the_same_signature() -> None:
    expected = list(inspect.signature(StaffDecision.__call__).parameters.values())[1:]
    for decision in DECISIONS:
        assert list(inspect.signature(decision).parameters.values()) == expected, decision


@pytest.mark.parametrize("decision", [staff.retry, staff.approve, staff.reject, staff.attribute])
def test_without_a_delivery_nothing_is_decided(
    unpaid: Transaction, tea_box: PaymentPage, decision: Callable[..., Any]
) -> None:
    events = Event.objects.count()
    assert not decision(unpaid, actor="Rana", note="x", page=tea_box)
    assert Event.objects.count() == events
    may = (staff.may_retry, staff.may_approve, staff.may_reject, staff.may_attribute)
    assert not any(is_possible(unpaid) for is_possible in may)


def test_attributing_needs_a_page(held: Transaction) -> None:
    with pytest.raises(ValueError, match="page"):
        staff.attribute(held, actor="Rana")


@pytest.mark.parametrize(
    ("decision", "kind"), [(staff.approve, "approved"), (staff.reject, "rejected")]
)
def test_the_timeline_says_who_decided_and_where(
    held: Transaction, decision: Callable[..., Any], kind: str
) -> None:
    assert decision(held, actor="Rana", note="agreed", door=Door.COMMAND)
    event = Event.objects.get(kind=kind)
    assert (event.actor, event.door, event.detail) == ("Rana", "command", "agreed")
    assert not decision(held, actor="Omar", note="again"), "the row has changed since it was read"


def test_verifying_asks_the_service_and_says_what_came_of_it(held: Transaction) -> None:
    assert staff.verify(held, actor="Rana") is Outcome.HELD
