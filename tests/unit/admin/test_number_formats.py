"""What programs read is the same in every site's way to write numbers (D04)."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from payments_pages.choices import FulfilmentState
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from tests.conftest import mirror_another
from tests.unit.admin.payments import paid
from tests.unit.admin.transactions.test_list import act

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LANGUAGES = ["en", "ar", "he", "de", "fr"]
DECISIONS = {
    "approve_held": {"note": "agreed"},
    "reject_held": {"note": "refunded"},
    "attribute_held": {"page": "cheap"},
}


@pytest.fixture
def staff(client: Client, settings: Any) -> Client:
    settings.USE_THOUSAND_SEPARATOR = True
    settings.LANGUAGES = [(code, code) for code in LANGUAGES]
    client.force_login(User.objects.create_superuser("staff"))
    return client


@pytest.fixture
def held(tea_box: PaymentPage, sandbox: Sandbox) -> list[Transaction]:
    """Two payments of less than the price, whose keys are above 1,234."""
    for pk in (1234, 5_000_000):
        row = paid(pk=pk, amount=9999, page=tea_box, attributed_by="callback")
        Fulfilment.objects.create(
            pk=pk,
            transaction=row,
            reference_key=row.reference_key,
            state=FulfilmentState.HELD,
            reason="amount_mismatch",
        )
        sandbox.add_transaction(row.reference, amount=9999)
    return list(Transaction.objects.all())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("action", DECISIONS)
def test_the_form_that_asks_about_ticked_payments_names_them_so_that_it_works(
    staff: Client,
    held: list[Transaction],
    sandbox: Sandbox,
    tea_box: PaymentPage,
    action: str,
    language: str,
) -> None:
    mirror_another(sandbox, slug="cheap", amount=100)
    headers = {"accept-language": language}
    shown = act(staff, action, *held, headers=headers).content.decode()

    def sent(name: str) -> list[str]:
        return re.findall(rf'name="{name}" value="([^"]*)"', shown)

    form = {
        **DECISIONS[action],
        **{name: sent(name) for name in ("_selected_action", "seen", "action", "confirmed")},
    }
    assert sorted(form["_selected_action"]) == ["1234", "5000000"]
    answer = staff.post("/admin/payments_pages/transaction/", form, headers=headers)
    assert answer.status_code == 302
    assert not Fulfilment.objects.filter(state=FulfilmentState.HELD).exists()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_bar_of_a_sync_has_numbers_that_a_browser_reads(
    staff: Client, sandbox: Sandbox, language: str
) -> None:
    for number in range(1120):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=number + 1)
    headers = {"accept-language": language}
    response = staff.post("/admin/payments_pages/paymentpage/sync/", headers=headers)
    while b"<progress" in response.content:
        shown = response.content.decode()
        bar = re.search(r'<progress[^>]* value="([^"]*)" max="([^"]*)"', shown)
        assert bar, "it knows how many there are"
        seen, total = bar.groups()
        assert (seen.isdigit(), total) == (True, "1120")
        token = shown.split('name="token" value="')[1].split('"')[0]
        response = staff.post(
            "/admin/payments_pages/paymentpage/sync/", {"token": token}, headers=headers
        )
    assert PaymentPage.objects.count() == 1120
