"""What staff paste out of mails and chats is found although marks that do not show came along."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, FulfilmentState, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.pages import public_url
from payments_pages.sandbox import Sandbox
from tests.support.goods.models import Good
from tests.unit.test_marks import MARKS

pytestmark = pytest.mark.django_db

PAYMENTS = "/admin/payments_pages/transaction/"
VERIFICATIONS = "/admin/payments_pages/verification/"
PAGES = "/admin/payments_pages/paymentpage/"
ALL = "".join(MARKS)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff", "staff@shop.example", "x"))
    return client


@pytest.fixture
def payment(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """A held payment: nothing says what it pays for."""
    customer = {"email": "noor.haddad@example.com"}
    reference = sandbox.pay("tea-box", customer=customer)
    confirm_payment(reference, door=Door.WEBHOOK, vouched=True)
    return Transaction.objects.get()


def found(response: Any) -> list[Any]:
    assert response.status_code == 200
    return list(response.context["cl"].result_list)


@pytest.mark.parametrize("mark", MARKS, ids=[f"U+{ord(mark):04X}" for mark in MARKS])
def test_d10_a_reference_is_searched_for_without_them(
    staff: Client, payment: Transaction, mark: str
) -> None:
    code = payment.reference
    pasted = f"{mark} {code[:4]}{mark}{code[4:]} {mark}"
    answer = staff.get(PAYMENTS, {"q": pasted})
    assert answer.url == reverse("admin:payments_pages_transaction_change", args=[payment.pk])
    # A pop-up lists what it finds.
    assert found(staff.get(PAYMENTS, {"q": pasted, "_popup": "1"})) == [payment]
    assert found(staff.get(VERIFICATIONS, {"q": pasted})) == [Verification.objects.get()]


def test_d10_an_email_address_is_searched_for_without_them(
    staff: Client, payment: Transaction
) -> None:
    assert found(staff.get(PAYMENTS, {"q": f"{ALL}noor.{ALL}haddad@{ALL} "})) == [payment]
    assert found(staff.get(PAYMENTS, {"q": f"{ALL}other@"})) == []


def test_d10_a_search_for_marks_alone_lists_all(staff: Client, payment: Transaction) -> None:
    assert found(staff.get(PAYMENTS, {"q": f" {ALL} "})) == [payment]
    assert found(staff.get(VERIFICATIONS, {"q": f" {ALL} "})) == [Verification.objects.get()]
    assert len(found(staff.get(PAGES, {"q": f" {ALL} "}))) == 1


def test_d10_a_page_is_searched_for_by_slug_and_name(staff: Client, tea_box: PaymentPage) -> None:
    for pasted in (f"{ALL}tea-{ALL}box{ALL}", f"{ALL}Tea{ALL} {ALL}box", "Tea box"):
        assert found(staff.get(PAGES, {"q": pasted})) == [tea_box]
    assert found(staff.get(PAGES, {"q": f"{ALL}mug"})) == []


def test_a_name_that_holds_a_mark_itself_is_found_as_it_is_written(
    staff: Client, tea_box: PaymentPage, payment: Transaction
) -> None:
    # In Persian a zero width non-joiner is a letter of the name.
    name = "چای\u200cخانه"
    PaymentPage.objects.update(name=name)
    assert found(staff.get(PAGES, {"q": name})) == [tea_box]
    url = reverse("admin:payments_pages_transaction_attribute", args=[payment.pk])
    form = staff.get(url).context["form"]
    assert form.__class__({"page": name}).is_valid()


def test_d10_a_reference_is_verified_by_hand_without_them(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    code = sandbox.pay("tea-box", metadata={"page_slug": "tea-box"})
    answer = staff.post(f"{PAYMENTS}verify/", {"reference": f"{ALL}{code[:5]}{ALL}{code[5:]}{ALL}"})
    assert answer.context["result"].outcome == "delivered now"
    assert Transaction.objects.get().reference == code
    assert Good.objects.count() == 1


@pytest.mark.parametrize("named", ["tea-box", "Tea box", "number", "address"])
def test_d10_a_page_is_attributed_without_them(
    staff: Client, payment: Transaction, tea_box: PaymentPage, named: str
) -> None:
    texts = {"number": str(tea_box.remote_id), "address": f"{public_url(tea_box)}/"}
    pasted = f"{ALL}{texts.get(named, named)}{ALL}"
    url = reverse("admin:payments_pages_transaction_attribute", args=[payment.pk])
    seen = staff.get(url).context["seen"]
    staff.post(url, {"page": pasted, "note": "a chat", "seen": seen})
    row = Fulfilment.objects.get()
    assert (row.state, row.reason) == (FulfilmentState.DELIVERED, "")


def test_a_payers_callback_is_not_cleaned(
    come_back: Any, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    code = sandbox.pay("tea-box")
    assert come_back(f"{code}\u200e", tea_box).status_code == 400
    assert not Verification.objects.exists()
    assert Reason.UNATTRIBUTED not in Fulfilment.objects.values_list("reason", flat=True)
