"""The one work list: what it shows, what it finds, and what can be done with what is ticked."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from payments_pages.admin.transactions import bulk_actions
from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good
from tests.unit.admin.transactions.conftest import SignIn, busy, said, state_of

pytestmark = pytest.mark.django_db

LIST = "/admin/payments_pages/transaction/"
VERIFICATIONS = "/admin/payments_pages/verification/"
ACTIONS = [
    ("verify_again", "verify_transaction"),
    ("retry_delivery", "retry_fulfilment"),
    ("approve_held", "approve_fulfilment"),
    ("reject_held", "reject_fulfilment"),
    ("attribute_held", "attribute_transaction"),
]


def change(row: Transaction | Verification) -> str:
    return reverse(f"admin:payments_pages_{row._meta.model_name}_change", args=[row.pk])


def act(client: Client, action: str, *rows: Any, url: str = LIST, **more: Any) -> Any:
    data = {"action": action, "_selected_action": [row.pk for row in rows], **more}
    return client.post(url, data, follow=True)


def listed(response: Any) -> list[str]:
    return [row.reference for row in response.context["cl"].result_list]


# What it shows


def test_the_list_has_six_columns_with_words_and_shapes(
    staff: Client, held: Transaction, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    response = staff.get(LIST)
    assert len(response.context["cl"].list_display) == 7, "six, and the box to tick"
    shown = response.content.decode()
    assert "99.99\u00a0ILS" in shown
    for shape, word in (("✓", "success"), ("!", "held"), ("✓", "delivered")):
        assert f'class="pp-shape">{shape}</span> <bdi class="pp-word">{word}</bdi>' in shown


def test_a_status_that_nobody_knows_is_shown_as_it_came_and_escaped(
    staff: Client, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = sandbox.pay("tea-box", status="<b>held up</b>")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    shown = staff.get(LIST).content.decode()
    assert '<bdi class="pp-word">&lt;b&gt;held up&lt;/b&gt;</bdi>' in shown
    assert "<b>held up" not in shown


def test_financial_rows_are_never_added_changed_or_deleted(
    staff: Client, held: Transaction
) -> None:
    for url, row in ((LIST, held), (VERIFICATIONS, Verification.objects.get())):
        assert staff.get(f"{url}add/").status_code == 403
        assert staff.post(f"{url}{row.pk}/change/", {"state": "delivered"}).status_code == 403
        assert staff.post(f"{url}{row.pk}/delete/", {"post": "yes"}).status_code == 403
        shown = staff.get(f"{url}{row.pk}/change/", follow=True).content.decode()
        assert "deletelink" not in shown
        assert 'name="_save"' not in shown
        assert "9999" not in shown.replace("99.99", "")
        assert "delete_selected" not in staff.get(url, follow=True).content.decode()


def test_the_lists_ask_the_same_number_of_queries_for_any_number_of_rows(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox, django_assert_max_num_queries: Any
) -> None:
    def pay(count: int) -> None:
        for _ in range(count):
            confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)

    pay(3)
    counts = {}
    for url in (LIST, VERIFICATIONS):
        with django_assert_max_num_queries(12) as few:
            staff.get(url)
        counts[url] = len(few)
    pay(10)
    for url, few_queries in counts.items():
        with django_assert_max_num_queries(12) as many:
            staff.get(url)
        assert len(many) == few_queries


# What it finds


def test_a_whole_reference_leads_straight_to_its_payment(staff: Client, held: Transaction) -> None:
    for typed in (held.reference, f"  {held.reference}\t"):
        assert staff.get(LIST, {"q": typed}).headers["Location"] == change(held)


def test_c52_a_reference_is_found_byte_for_byte(
    staff: Client, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    for reference in ("ppg-AbC", "ppg-aBc"):
        sandbox.pay("tea-box", reference=reference)
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
        paid = Transaction.objects.get(reference_key=reference_key(reference))
        assert staff.get(LIST, {"q": reference}).headers["Location"] == change(paid)
    assert listed(staff.get(LIST, {"q": "ppg-abc"})) == ["ppg-aBc", "ppg-AbC"]
    assert listed(staff.get(LIST, {"q": "pg-AbC"})) == []


def test_a_reference_that_is_only_asked_about_leads_to_how_asking_goes(
    staff: Client, sandbox: Sandbox
) -> None:
    confirm_payment("PPG-404", door=Door.WEBHOOK, vouched=True)
    response = staff.get(LIST, {"q": "PPG-404"}, follow=True)
    assert response.redirect_chain == [(change(Verification.objects.get()), 302)]
    assert "not reported a payment" in said(response)


def test_a_payment_of_the_other_mode_is_found_too(
    staff: Client, held: Transaction, configure: Any
) -> None:
    configure(MODE="live")
    assert staff.get(LIST, {"q": held.reference}).headers["Location"] == change(held)


@pytest.mark.parametrize(
    ("typed", "found"),
    [("nur@example.test", True), ("NUR@Example.TEST", True), ("Nu", True), ("ur@example", False),
     ("nur%", False), ("n_r", False)],
)  # fmt: skip
def test_an_address_is_found_by_its_beginning_whatever_the_case(
    staff: Client, sandbox: Sandbox, tea_box: PaymentPage, typed: str, found: bool
) -> None:
    reference = sandbox.pay("tea-box", email="Nur@Example.test")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert (listed(staff.get(LIST, {"q": typed})) == [reference]) is found


def test_who_may_not_see_customers_cannot_search_for_them(
    viewer: Client, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = sandbox.pay("tea-box", email="nur@example.test")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert listed(viewer.get(LIST, {"q": "nur@example.test"})) == []
    assert viewer.get(LIST, {"q": reference}).status_code == 302
    shown = viewer.get(LIST).content.decode()
    assert "nur@example.test" not in shown
    assert "n•••@example.test" in shown


@pytest.mark.parametrize(
    "typed", ["a\x00b", "\ud800", "x" * 5000, "'; DROP TABLE--", "%", "\u200f"]
)
def test_nothing_that_is_typed_breaks_the_search(
    staff: Client, held: Transaction, typed: str
) -> None:
    query = typed.encode("utf-8", "surrogatepass")
    for url in (LIST, VERIFICATIONS):
        assert staff.get(url, {"q": query}).status_code == 200


def test_the_list_is_filtered_by_delivery_and_by_the_reason_of_a_hold(
    staff: Client, held: Transaction, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    delivered = Transaction.objects.exclude(pk=held.pk).get()
    for query, found in (
        ({"fulfilment__state__exact": "delivered"}, [delivered.reference]),
        ({"held": "decision"}, [held.reference]),
        ({"held": "delivery"}, []),
        ({"held": "amount_mismatch"}, [held.reference]),
        ({"held": "unattributed"}, []),
        ({"held": "no such word"}, []),
    ):
        assert listed(staff.get(LIST, query)) == found


# What can be done with what is ticked


def test_ticked_payments_are_approved_for_one_reason_each_by_itself(
    staff: Client, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    for amount in (9999, 9998, 10000):
        reference = sandbox.pay("tea-box", amount=amount)
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    rows = list(Transaction.objects.all())
    asked = act(staff, "approve_held", *rows)
    shown = asked.content.decode()
    assert shown.count("Nothing will be done about this one.") == 1, "it is delivered already"
    assert "paid less than the price" in shown
    assert Good.objects.count() == 1
    seen = [row["seen"] for row in asked.context["rows"]]
    blank = act(staff, "approve_held", *rows, confirmed="yes", note=" ", seen=seen)
    assert "errorlist" in blank.content.decode()
    assert Good.objects.count() == 1
    done = act(staff, "approve_held", *rows, confirmed="yes", note="agreed", seen=seen)
    assert said(done).count("delivered now") == 2
    assert said(done).count("nothing to do in this state") == 1
    assert Good.objects.count() == 3
    assert Event.objects.filter(kind="approved", detail="agreed").count() == 2
    assert LogEntry.objects.filter(change_message__contains="approved").count() == 2
    act(staff, "approve_held", *rows, confirmed="yes", note="agreed", seen=seen)
    assert Good.objects.count() == 3


def test_a_ticked_payment_that_changed_while_the_reason_was_typed_is_left_alone(
    staff: Client, held: Transaction, sandbox: Sandbox
) -> None:
    seen = [row["seen"] for row in act(staff, "reject_held", held).context["rows"]]
    sandbox.set_transaction(held.reference, amount=0)
    let_time_pass(10)
    confirm_payment(held.reference, door=Door.ADMIN, refresh=True)
    assert state_of(held) == (FulfilmentState.HELD, Reason.AMOUNT_INVALID)
    done = act(staff, "reject_held", held, confirmed="yes", note="too little", seen=seen)
    assert "nothing to do in this state" in said(done)
    assert state_of(held)[0] == FulfilmentState.HELD


def test_ticked_payments_are_rejected_for_good(staff: Client, held: Transaction) -> None:
    seen = [row["seen"] for row in act(staff, "reject_held", held).context["rows"]]
    act(staff, "reject_held", held, confirmed="yes", note="refunded", seen=seen)
    assert state_of(held)[0] == FulfilmentState.REJECTED


def test_ticked_deliveries_are_tried_again(staff: Client, spent: Transaction) -> None:
    assert "delivered now" in said(act(staff, "retry_delivery", spent))
    assert Good.objects.count() == 1


def test_retrying_a_hold_of_the_policy_does_nothing(staff: Client, held: Transaction) -> None:
    assert "nothing to do" in said(act(staff, "retry_delivery", held))
    assert state_of(held)[0] == FulfilmentState.HELD


def test_ticked_payments_are_asked_about_again(
    staff: Client, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    sandbox.set_transaction(reference, status="reversed")
    let_time_pass(10)
    act(staff, "verify_again", Transaction.objects.get())
    assert Transaction.objects.get().status == "reversed"
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED
    assert Event.objects.filter(kind="status_changed").count() == 1


def test_ticked_references_are_asked_about_again(
    staff: Client, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = sandbox.pay("tea-box", status="pending")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    sandbox.set_transaction(reference, status="success")
    let_time_pass(10)
    done = act(staff, "verify_again", Verification.objects.get(), url=VERIFICATIONS)
    assert "delivered now" in said(done)
    assert Good.objects.count() == 1


@pytest.mark.parametrize(("action", "_codename"), ACTIONS)
def test_more_rows_than_a_request_can_take_are_refused_whole(
    staff: Client,
    held: Transaction,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    _codename: str,
) -> None:
    monkeypatch.setattr(bulk_actions, "MOST", 0)
    calls = sandbox.verify_calls()
    assert "at most 0 rows" in said(act(staff, action, held, confirmed="yes", note="x"))
    assert sandbox.verify_calls() == calls
    assert state_of(held)[0] == FulfilmentState.HELD


@pytest.mark.parametrize(("action", "codename"), ACTIONS)
def test_each_list_action_needs_its_own_permission(
    sign_in: SignIn, held: Transaction, action: str, codename: str
) -> None:
    others = {name for _action, name in ACTIONS if name != codename}
    without = sign_in("view_transaction", *others)
    assert f'value="{action}"' not in without.get(LIST).content.decode()
    act(without, action, held, confirmed="yes", note="x")
    assert state_of(held)[0] == FulfilmentState.HELD
    having = sign_in("view_transaction", codename)
    assert f'value="{action}"' in having.get(LIST).content.decode()


def test_a_database_that_is_busy_is_said_for_each_row(staff: Client, held: Transaction) -> None:
    seen = [row["seen"] for row in act(staff, "approve_held", held).context["rows"]]
    with busy("UPDATE payments_pages_fulfilment"):
        done = act(staff, "approve_held", held, confirmed="yes", note="x", seen=seen)
    assert "The database is busy" in said(done)
    assert state_of(held)[0] == FulfilmentState.HELD


def test_a_setting_that_is_missing_is_said_for_each_row(
    staff: Client, held: Transaction, configure: Any
) -> None:
    let_time_pass(10)
    configure(BASE_URL=None)
    assert "BASE_URL" in said(act(staff, "verify_again", held))


def test_a_service_that_is_down_is_said_for_each_row(
    staff: Client, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    confirm_payment("PPG-1", door=Door.WEBHOOK, vouched=True)
    sandbox.faults.add(operation="verify", kind="status", status=503)
    let_time_pass(10)
    done = act(staff, "verify_again", Verification.objects.get(), url=VERIFICATIONS)
    assert str(Outcome.UNAVAILABLE.label) in said(done)
