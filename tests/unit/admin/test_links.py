"""In a project with several admin sites, each links to its own pages alone."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls("tests.unit.admin.two_sites"),
]

APP = "/back-office/payments_pages/"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff"))
    return client


@pytest.fixture
def payment(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """A held payment, beside a reference that the service does not know."""
    reference = sandbox.pay("tea-box", amount=9999)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    confirm_payment("PPG-404", door=Door.WEBHOOK, vouched=True)
    return Transaction.objects.get()


@pytest.mark.parametrize(
    "place",
    [
        "",
        "transaction/",
        "transaction/verify/",
        "transaction/{payment.pk}/change/",
        "transaction/{payment.pk}/approve/",
        "verification/",
        "verification/{asked.pk}/change/",
        "paymentpage/",
        "paymentpage/{payment.page.pk}/change/",
    ],
)
def test_a_second_admin_site_links_to_its_own_pages(
    staff: Client, payment: Transaction, place: str
) -> None:
    asked = Verification.objects.get(reference=payment.reference)
    shown = staff.get(APP + place.format(payment=payment, asked=asked)).content.decode()
    links = re.findall(r'="(/(?:admin|back-office)/[^"]*)"', shown)
    assert any(link.startswith(f"{APP}transaction/") for link in links)
    assert [link for link in links if link.startswith("/admin/")] == []


@pytest.mark.parametrize("kind", ["transaction", "verification"])
def test_a_search_and_an_action_lead_back_into_the_same_site(
    staff: Client, payment: Transaction, kind: str
) -> None:
    reference = payment.reference if kind == "transaction" else "PPG-404"
    found = staff.get(f"{APP}transaction/", {"q": reference})
    assert found.headers["Location"].startswith(f"{APP}{kind}/")
    rejected = staff.post(f"{APP}transaction/{payment.pk}/reject/", {"note": "x", "seen": "old"})
    assert rejected.headers["Location"] == f"{APP}transaction/{payment.pk}/change/"
