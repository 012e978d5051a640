"""A reference that no door ever brought is brought in by hand."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from payments_pages.models import Event, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from tests.support.goods.models import Good
from tests.unit.admin.transactions.conftest import SignIn, busy

pytestmark = pytest.mark.django_db

URL = "/admin/payments_pages/transaction/verify/"


def verify(client: Client, reference: str) -> Any:
    return client.post(URL, {"reference": reference})


def outcome(response: Any) -> tuple[str, str, str]:
    result = response.context["result"]
    return result.kind, result.outcome, result.link


def test_what_is_paid_is_delivered_and_leads_to_the_payment(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box", metadata={"page_slug": "tea-box"})
    response = verify(staff, f"  {reference} ")
    paid = Transaction.objects.get()
    link = reverse("admin:payments_pages_transaction_change", args=[paid.pk])
    assert outcome(response) == ("good", "delivered now", link)
    assert link in response.content.decode()
    assert Good.objects.count() == 1
    assert Verification.objects.get().vouched
    assert Event.objects.filter(kind="verified", actor="staff", door="admin").count() == 1
    assert outcome(verify(staff, reference))[:2] == ("good", "delivered before")
    assert Good.objects.count() == 1


def test_what_is_held_says_where_to_look(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    response = verify(staff, sandbox.pay("tea-box"))
    assert outcome(response)[:2] == ("attention", "paid; held for staff")
    assert "Open the payment to see why" in response.content.decode()


def test_what_the_service_does_not_know_is_noted_and_stays_in_the_form(
    staff: Client, sandbox: Sandbox
) -> None:
    response = verify(staff, "PPG-404")
    row = Verification.objects.get()
    link = reverse("admin:payments_pages_verification_change", args=[row.pk])
    assert outcome(response) == ("error", "unknown to the service", link)
    assert 'value="PPG-404"' in response.content.decode()
    assert (row.state, row.vouched) == ("unknown", True)
    shown = staff.get(link).content.decode()
    assert "not reported a payment" in shown
    assert "The service does not know it now." in shown
    assert "The service does not know it now. (NotFound)" in shown, "the timeline has its class"


@pytest.mark.parametrize("status", [503, 401])
def test_a_service_that_gives_no_answer_is_told_with_its_reason(
    staff: Client, sandbox: Sandbox, status: int
) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=status)
    response = verify(staff, "PPG-1")
    assert outcome(response)[:2] == ("error", "cannot be confirmed right now")
    shown = response.content.decode()
    assert 'value="PPG-1"' in shown
    assert "says nothing about the payment" in shown
    name, _colon, told = Verification.objects.get().last_error.partition(": ")
    assert told in shown
    assert name not in shown


@pytest.mark.parametrize(
    "reference", ["", " ", "a/b", "..", "a b", "<script>1</script>", "x" * 999]
)
def test_what_cannot_be_a_reference_is_an_error_of_the_form_and_asks_nobody(
    staff: Client, sandbox: Sandbox, reference: str
) -> None:
    response = verify(staff, reference)
    assert response.context["form"].errors
    assert response.context["result"] is None
    assert "<script>1" not in response.content.decode()
    assert sandbox.verify_calls() == 0
    assert not Verification.objects.exists()


def test_a_busy_database_and_a_missing_setting_are_told(
    staff: Client, sandbox: Sandbox, configure: Any
) -> None:
    with busy("payments_pages_verification"):
        assert "The database is busy" in outcome(verify(staff, "PPG-1"))[1]
    configure(BASE_URL=None)
    assert "BASE_URL" in outcome(verify(staff, "PPG-1"))[1]


def test_it_needs_the_permission_to_ask_and_links_only_to_what_may_be_seen(
    sign_in: SignIn, viewer: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box")
    assert viewer.get(URL).status_code == 403
    assert verify(viewer, reference).status_code == 403
    assert sandbox.verify_calls() == 0
    asker = sign_in("verify_transaction")
    assert asker.get(URL).status_code == 200
    assert outcome(verify(asker, reference)) == ("attention", "paid; held for staff", "")
    assert outcome(verify(asker, "PPG-404"))[2] == ""


def test_the_lists_and_the_index_lead_there_who_may_ask(staff: Client, viewer: Client) -> None:
    for page in ("", "transaction/", "verification/"):
        address = f"/admin/payments_pages/{page}"
        assert f'href="{URL}"' in staff.get(address).content.decode()
        assert f'href="{URL}"' not in viewer.get(address).content.decode()
