"""Staff see payments and decide about deliveries over HTTP."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from tests.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

FULFILMENTS = "/admin/payments_pages/fulfilment/"
TRANSACTIONS = "/admin/payments_pages/transaction/"
VERIFICATIONS = "/admin/payments_pages/verification/"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff", "staff@shop.example", "x"))
    return client


@pytest.fixture
def held(tea_box: PaymentPage, sandbox: Sandbox) -> Fulfilment:
    """A payment of less than the price."""
    reference = sandbox.pay("tea-box", amount=9999)
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.HELD
    return Fulfilment.objects.get()


def act(client: Client, url: str, action: str, *rows: Any, **more: str) -> Any:
    data = {"action": action, "_selected_action": [row.pk for row in rows], **more}
    return client.post(url, data, follow=True)


def notes(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def test_approving_asks_for_a_reason_and_then_delivers_once(
    staff: Client, held: Fulfilment
) -> None:
    asked = act(staff, FULFILMENTS, "approve_held", held)
    assert "paid less than the price" in asked.content.decode()
    assert 'name="note"' in asked.content.decode()
    held.refresh_from_db()
    assert held.state == FulfilmentState.HELD

    blank = act(staff, FULFILMENTS, "approve_held", held, confirmed="yes", note=" ")
    assert "errorlist" in blank.content.decode()
    held.refresh_from_db()
    assert held.state == FulfilmentState.HELD

    for _ in range(2):
        act(staff, FULFILMENTS, "approve_held", held, confirmed="yes", note="agreed by phone")
    held.refresh_from_db()
    assert (held.state, held.decided_by, held.note) == (
        FulfilmentState.DELIVERED,
        "staff",
        "agreed by phone",
    )
    assert Good.objects.count() == 1
    assert (
        Event.objects.filter(kind="approved", actor="staff", detail="agreed by phone").count() == 1
    )


def test_rejecting_is_final_and_delivers_nothing(
    staff: Client, held: Fulfilment, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    act(staff, FULFILMENTS, "reject_held", held, confirmed="yes", note="refunded")
    held.refresh_from_db()
    assert (held.state, held.decided_by) == (FulfilmentState.REJECTED, "staff")
    reference = held.transaction.reference
    calls = sandbox.verify_calls(reference)
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.REJECTED
    assert sandbox.verify_calls(reference) == calls
    act(staff, FULFILMENTS, "approve_held", held, confirmed="yes", note="no")
    held.refresh_from_db()
    assert held.state == FulfilmentState.REJECTED
    assert Good.objects.count() == 0


def test_a_delivery_that_failed_too_often_is_tried_again_by_staff(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.goods.handlers.fail_first", MAX_ATTEMPTS=1)
    found = confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.HELD
    row = Fulfilment.objects.get()
    assert row.reason == Reason.ATTEMPTS_SPENT
    response = act(staff, FULFILMENTS, "retry_delivery", row)
    assert "delivered now" in notes(response)
    row.refresh_from_db()
    assert (row.state, row.attempts) == (FulfilmentState.DELIVERED, 2)
    assert Good.objects.count() == 1


def test_retrying_a_hold_of_the_policy_does_nothing(staff: Client, held: Fulfilment) -> None:
    response = act(staff, FULFILMENTS, "retry_delivery", held)
    assert "nothing to do" in notes(response)
    held.refresh_from_db()
    assert held.state == FulfilmentState.HELD


def test_asking_again_finds_a_late_success(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box", status="pending")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    sandbox.set_transaction(reference, status="success")
    Verification.objects.update(asked_at=None)
    response = act(staff, VERIFICATIONS, "verify_again", Verification.objects.get())
    assert "delivered now" in notes(response)
    assert Good.objects.count() == 1


def test_asking_again_about_a_delivered_one_notes_a_reversal_and_keeps_the_delivery(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    sandbox.set_transaction(reference, status="reversed")
    Verification.objects.update(asked_at=None)
    act(staff, TRANSACTIONS, "verify_again", Transaction.objects.get())
    assert Transaction.objects.get().status == "reversed"
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED
    assert Event.objects.filter(kind="status_changed").count() == 1


def test_mirrors_are_read_only_and_never_deleted(staff: Client, held: Fulfilment) -> None:
    for url, row in (
        (FULFILMENTS, held),
        (TRANSACTIONS, held.transaction),
        (VERIFICATIONS, Verification.objects.get()),
    ):
        assert staff.get(f"{url}add/").status_code == 403
        assert staff.post(f"{url}{row.pk}/change/", {"state": "delivered"}).status_code == 403
        assert staff.post(f"{url}{row.pk}/delete/", {"post": "yes"}).status_code == 403
        shown = staff.get(f"{url}{row.pk}/change/").content.decode()
        assert "deletelink" not in shown
        assert "9999" not in shown.replace("99.99", "")
        listed = staff.get(url).content.decode()
        assert held.transaction.reference in listed
    assert "99.99\u00a0ILS" in staff.get(TRANSACTIONS).content.decode()


def test_the_timeline_tells_the_story(staff: Client, held: Fulfilment) -> None:
    url = reverse("admin:payments_pages_fulfilment_change", args=[held.pk])
    shown = staff.get(url).content.decode()
    assert "amount_mismatch" in shown
    assert "attempt 1: success" in shown


@pytest.mark.parametrize(
    ("url", "action", "codename"),
    [
        (FULFILMENTS, "retry_delivery", "retry_fulfilment"),
        (FULFILMENTS, "approve_held", "approve_fulfilment"),
        (FULFILMENTS, "reject_held", "reject_fulfilment"),
        (TRANSACTIONS, "verify_again", "verify_transaction"),
        (VERIFICATIONS, "verify_again", "verify_transaction"),
    ],
)
def test_each_action_needs_its_own_permission(
    held: Fulfilment, url: str, action: str, codename: str
) -> None:
    user = User.objects.create_user("viewer", is_staff=True)
    views = Permission.objects.filter(
        content_type__app_label="payments_pages", codename__startswith="view_"
    )
    user.user_permissions.set(views)
    client = Client()
    client.force_login(user)
    assert f'value="{action}"' not in client.get(url).content.decode()
    user.user_permissions.add(Permission.objects.get(codename=codename))
    assert f'value="{action}"' in client.get(url).content.decode()


def test_c51_what_payers_send_runs_nothing_in_the_admin(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay(
        "tea-box",
        first_name="<img src=x onerror=alert(1)>",
        gateway_response="<script>2</script>",
        metadata={
            "custom_fields": [{"display_name": "<b>x</b>", "value": "</pre><script>3</script>"}]
        },
    )
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    row = Transaction.objects.get()
    for url in (TRANSACTIONS, reverse("admin:payments_pages_transaction_change", args=[row.pk])):
        shown = staff.get(url).content.decode()
        assert "<img src=x" not in shown
        assert "<script>2" not in shown
        assert "<script>3" not in shown
        assert "<b>x" not in shown


def test_the_lists_ask_the_same_number_of_queries_for_any_number_of_rows(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    counts = {}
    for url in (FULFILMENTS, TRANSACTIONS, VERIFICATIONS):
        with django_assert_max_num_queries(12) as few:
            staff.get(url)
        counts[url] = len(few)
    for _ in range(10):
        confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    for url, few_queries in counts.items():
        with django_assert_max_num_queries(12) as many:
            staff.get(url)
        assert len(many) == few_queries
