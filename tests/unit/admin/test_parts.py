"""A project may unregister a part of our admin, or register it with an admin class of its own (D33)."""

import re
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls("tests.unit.admin.part_sites"),
]

MODELS = ("paymentpage", "transaction", "verification")
ADDRESS = re.compile(r'(?:href|action)="([^"#?]+)[^"]*"')
BUTTONS = re.compile(r"/(sync|export|export/xlsx|seller|drift|stop|logout)/$")


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff"))
    return client


@pytest.fixture
def held(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """A held payment and a delivered one, beside a reference that the service does not know."""
    for amount in (9999, 10000):
        reference = sandbox.pay("tea-box", amount=amount)
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    confirm_payment("PPG-404", door=Door.WEBHOOK, vouched=True)
    return Transaction.objects.get(amount=9999)


def follow(staff: Client, site: str) -> dict[str, str]:
    """Open all that one site leads to, from our app's index on; return the pages by address."""
    root = f"/{site}/payments_pages/"
    waiting, seen = [root], dict[str, str]()
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        response = staff.get(address, follow=True)
        assert response.status_code == 200, address
        html = "text/html" in response.headers["Content-Type"]
        seen[address] = response.content.decode() if html else ""
        links = [urlsplit(urljoin(address, link)).path for link in ADDRESS.findall(seen[address])]
        waiting += [link for link in links if link.startswith(root) and not BUTTONS.search(link)]
        assert not [link for link in links if link.startswith("/admin/")], address
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["without", "plain"])
def test_d33_every_page_opens_where_a_part_of_the_admin_is_another_or_not_there(
    staff: Client, held: Transaction, kind: str, model: str
) -> None:
    seen = follow(staff, f"{kind}-{model}")
    lists = {name for name in MODELS if f"/{kind}-{model}/payments_pages/{name}/" in seen}
    assert lists == (set(MODELS) - {model} if kind == "without" else set(MODELS))


def test_d33_without_verifications_a_search_and_a_check_by_hand_lead_nowhere_else(
    staff: Client, held: Transaction
) -> None:
    at = "/without-verification/payments_pages/transaction/"
    assert staff.get(at, {"q": "PPG-404"}).status_code == 200
    assert staff.get(at, {"q": held.reference}).status_code == 302
    told = staff.post(f"{at}verify/", {"reference": "PPG-404"}).content.decode()
    assert "PPG-404" in told
    assert "Open the reference" not in told
    shown = staff.get("/without-verification/payments_pages/").content.decode()
    assert "1 reference you asked about is not known to the service." in shown


def test_d33_without_pages_a_payment_names_its_page(staff: Client, held: Transaction) -> None:
    shown = staff.get(f"/without-paymentpage/payments_pages/transaction/{held.pk}/change/")
    assert re.search(r'<bdi dir="auto">Tea box</bdi> \(', shown.content.decode())


def test_d33_without_payments_pages_still_show_what_they_sold(
    staff: Client, held: Transaction
) -> None:
    root = "/without-transaction/payments_pages/"
    listed = staff.get(f"{root}paymentpage/").content.decode()
    assert re.search(r'<span class="pp-line"><span class="pp-nowrap">2 payments</span> · ', listed)
    asked = Verification.objects.get(reference=held.reference)
    shown = staff.get(f"{root}verification/{asked.pk}/change/").content.decode()
    # As the row's own reference, and in place of a link to the payment.
    assert shown.count(f'<bdi dir="ltr" class="pp-nowrap">{held.reference}</bdi>') == 2
    assert "Verify a reference" not in staff.get(f"{root}verification/").content.decode()
