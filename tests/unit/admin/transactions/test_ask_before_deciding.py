"""Staff decide by what the service says now: approve and attribute ask it first (D34)."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import DecisionError
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_held, transaction_changed
from payments_pages.staff import decisions as use_cases
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good
from tests.unit.admin.transactions.conftest import said, state_of
from tests.unit.admin.transactions.test_actions import act, address

pytestmark = pytest.mark.django_db

LIST = reverse("admin:payments_pages_transaction_changelist")
MONEY_BACK = (FulfilmentState.HELD, Reason.NOT_SUCCESS)


@pytest.fixture
def old(held: Transaction) -> Transaction:
    """Held since hours."""
    let_time_pass(7200)
    return Transaction.objects.get()


def in_bulk(client: Client, *rows: Transaction) -> Any:
    ticked: dict[str, Any] = {
        "action": "approve_held",
        "_selected_action": [row.pk for row in rows],
    }
    asked = client.post(LIST, ticked)
    seen = [row["seen"] for row in asked.context["rows"]]
    return client.post(
        LIST, {**ticked, "confirmed": "yes", "note": "agreed", "seen": seen}, follow=True
    )


@pytest.mark.parametrize("how", ["approve", "attribute", "bulk"])
def test_what_was_reversed_meanwhile_is_not_given_and_staff_are_told(
    staff: Client, old: Transaction, sandbox: Sandbox, tea_box: PaymentPage, how: str
) -> None:
    changes: list[str] = []

    def listen(previous: str, transaction: Transaction, **_more: Any) -> None:
        changes.append(f"{previous} {transaction.status}")

    transaction_changed.connect(listen)
    sandbox.set_transaction(old.reference, status="reversed")
    try:
        shown = {
            "approve": lambda: act(staff, "approve", old, note="agreed"),
            "attribute": lambda: act(staff, "attribute", old, page="tea-box"),
            "bulk": lambda: in_bulk(staff, old),
        }[how]()
    finally:
        transaction_changed.disconnect(listen)
    assert "The service says “reversed” about this payment now" in said(shown)
    assert "delivered now" not in said(shown)
    assert state_of(old) == MONEY_BACK
    assert not Good.objects.exists()
    assert changes == ["success reversed"]
    kinds = list(Event.objects.values_list("kind", flat=True))
    assert "status_changed" in kinds
    assert "approved" not in kinds
    assert "attributed" not in kinds


def test_a_payment_that_was_reversed_offers_no_approval(
    staff: Client, old: Transaction, sandbox: Sandbox
) -> None:
    sandbox.set_transaction(old.reference, status="reversed")
    act(staff, "verify", old)
    shown = staff.get(address("change", old)).content.decode()
    assert address("approve", old) not in shown
    assert address("reject", old) in shown
    assert staff.get(address("approve", old)).status_code == 302
    assert not use_cases.may_approve(
        Fulfilment.objects.select_related("transaction").get().transaction
    )
    let_time_pass(60)
    assert in_bulk(staff, old).status_code == 200
    assert state_of(old) == MONEY_BACK


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "status": 503},
        {"kind": "status", "status": 401},
        {"kind": "status", "status": 404},
        {"kind": "drop"},
    ],
)
@pytest.mark.parametrize("how", ["approve", "attribute", "bulk"])
def test_when_the_service_gives_no_answer_nothing_is_done_and_staff_are_told(
    staff: Client, old: Transaction, sandbox: Sandbox, how: str, fault: dict[str, Any]
) -> None:
    sandbox.faults.add(operation="verify", **fault)
    before = state_of(old)
    shown = {
        "approve": lambda: act(staff, "approve", old, note="agreed"),
        "attribute": lambda: act(staff, "attribute", old, page="tea-box"),
        "bulk": lambda: in_bulk(staff, old),
    }[how]()
    assert "could not be asked" in said(shown)
    assert state_of(old) == before == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    assert not Event.objects.filter(kind__in=["approved", "attributed"]).exists()
    sandbox.faults.clear()
    let_time_pass(600)
    assert "delivered now" in said(act(staff, "approve", old, note="agreed"))
    assert Good.objects.count() == 1


@pytest.mark.parametrize("status", ["failed", "abandoned", "pending", "something new"])
def test_no_other_word_than_success_is_enough_although_the_mirror_keeps_it(
    staff: Client, old: Transaction, sandbox: Sandbox, status: str
) -> None:
    sandbox.set_transaction(old.reference, status=status)
    assert f"“{status}”" in said(act(staff, "approve", old, note="agreed"))
    assert Transaction.objects.get().status == "success"
    assert state_of(old) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    assert not Good.objects.exists()


def test_asking_first_makes_one_call_and_calls_nobody_anew(
    staff: Client, old: Transaction, sandbox: Sandbox
) -> None:
    told: list[Fulfilment] = []

    def listen(fulfilment: Fulfilment, **_more: Any) -> None:
        told.append(fulfilment)

    calls = sandbox.verify_calls(old.reference)
    holds = Event.objects.filter(kind="held").count()
    fulfilment_held.connect(listen)
    try:
        assert "delivered now" in said(act(staff, "approve", old, note="agreed"))
    finally:
        fulfilment_held.disconnect(listen)
    assert sandbox.verify_calls(old.reference) == calls + 1
    assert told == []
    assert Event.objects.filter(kind="held").count() == holds
    assert Fulfilment.objects.get().decided_by == "staff"


def test_what_the_rules_accept_by_the_new_answer_is_given_once_without_staff(
    staff: Client, old: Transaction, sandbox: Sandbox
) -> None:
    """The payer has paid the rest, and the service counts it into the same payment."""
    sandbox.set_transaction(old.reference, amount=10000)
    assert "delivered now" in said(act(staff, "approve", old, note="agreed"))
    row = Fulfilment.objects.get()
    assert (row.state, row.decided_by, row.attempts) == (FulfilmentState.DELIVERED, "", 1)
    assert Good.objects.count() == 1


def test_of_several_ticked_each_is_asked_about_by_itself(
    staff: Client, old: Transaction, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    second = sandbox.pay("tea-box", amount=9000)
    confirm_payment(second, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(7200)
    sandbox.set_transaction(old.reference, status="reversed")
    other = Transaction.objects.get(reference=second)
    told = said(in_bulk(staff, old, other))
    assert "“reversed”" in told
    assert "delivered now" in told
    assert state_of(old) == MONEY_BACK
    assert state_of(other)[0] == FulfilmentState.DELIVERED


def test_a_use_case_says_so_in_an_error_and_keeps_the_hold(
    old: Transaction, sandbox: Sandbox
) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=500)
    row = Fulfilment.objects.select_related("transaction").get()
    with pytest.raises(DecisionError, match="could not be asked"):
        use_cases.approve(row.transaction, actor="Rana", note="agreed")
    assert Verification.objects.get().state == "due", "the sweep asks again"
    sandbox.faults.clear()
    let_time_pass(600)
    row = Fulfilment.objects.select_related("transaction").get()
    assert use_cases.approve(row.transaction, actor="Rana", note="agreed") is Outcome.DELIVERED


@pytest.mark.parametrize("reason", ["page_not_on_sale", "other_site"])
def test_a_hold_for_its_page_can_be_approved_and_attributed(
    staff: Client, old: Transaction, tea_box: PaymentPage, sandbox: Sandbox, reason: str
) -> None:
    fields = {"active": False} if reason == "page_not_on_sale" else {"seller": "-"}
    PaymentPage.objects.update(**fields)
    sandbox.set_transaction(old.reference, amount=10000)
    act(staff, "verify", old)
    assert state_of(old) == (FulfilmentState.HELD, reason)
    shown = staff.get(address("change", old)).content.decode()
    assert address("approve", old) in shown
    assert address("attribute", old) in shown
    let_time_pass(60)
    still = act(staff, "attribute", old, page="tea-box")
    assert "held" in said(still), "the same rules hold for staff's word"
    assert state_of(old) == (FulfilmentState.HELD, reason)
    let_time_pass(60)
    assert "delivered now" in said(act(staff, "approve", old, note="agreed"))


@pytest.mark.parametrize("left_out", [{"domain": ...}, {"domain": None}, {"domain": ""}])
def test_s14_what_the_service_gives_no_mode_is_approved_by_staff_alone(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox, left_out: dict[str, Any]
) -> None:
    sandbox.faults.add(operation="verify", kind="patch", data=left_out)
    reference = sandbox.pay("tea-box")
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.HELD
    row = Transaction.objects.get()
    assert (row.domain, state_of(row)) == ("", (FulfilmentState.HELD, Reason.MODE_MISMATCH))
    shown = staff.get(address("change", row)).content.decode()
    assert "does not say whether this is a test payment or a live one" in shown
    let_time_pass(60)
    assert confirm_payment(reference, door=Door.ADMIN, refresh=True).outcome is Outcome.HELD
    let_time_pass(60)
    assert "delivered now" in said(act(staff, "approve", row, note="paid, says the dashboard"))
    assert Good.objects.count() == 1
    assert Event.objects.get(kind="approved").detail == "paid, says the dashboard"


def test_s14_a_mode_that_the_service_says_when_asked_again_decides(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Of the other mode it is not approved, whatever staff saw before."""
    sandbox.faults.add(operation="verify", kind="patch", data={"domain": ...}, times=1)
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(60)
    sandbox.faults.add(operation="verify", kind="patch", data={"domain": "live"})
    row = Transaction.objects.get()
    shown = act(staff, "approve", row, note="agreed")
    assert "this cannot be approved. Nothing was delivered." in said(shown)
    assert state_of(row) == (FulfilmentState.HELD, Reason.MODE_MISMATCH)
    assert not Good.objects.exists()
