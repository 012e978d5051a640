"""Staff remove from the mirror what the service does not have and nobody paid (F9)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import DELETION, LogEntry
from django.test import Client
from django.utils import timezone

from example_project.shop.models import Offer, Order
from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import PageError
from payments_pages.models import PaymentPage, Transaction
from payments_pages.pages import create_page, remove_page, slug_key, sync_pages
from payments_pages.sandbox import Sandbox
from tests.conftest import expect_payment, in_thread
from tests.support.pages_admin import LIST, rows, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def gone(sandbox: Sandbox) -> PaymentPage:
    page = create_page(name="Tea box", amount=10000, slug="tea-box")
    lose(sandbox, page)
    return page


def lose(sandbox: Sandbox, page: PaymentPage) -> None:
    assert page.remote_id is not None
    sandbox.state.forget_page(page.remote_id)
    sync_pages()
    page.refresh_from_db()
    assert page.missing_since is not None


def remove(client: Client, *pages: PaymentPage, confirmed: bool = True) -> Any:
    data: dict[str, Any] = {
        "action": "remove_pages",
        "_selected_action": [page.pk for page in pages],
    }
    return client.post(LIST, {**data, "confirmed": "1"} if confirmed else data, follow=True)


def outcome(response: Any) -> str:
    return list(rows(text(response)))[1][1]


def test_a_lost_page_is_removed_after_a_question(
    staff: Client, sandbox: Sandbox, gone: PaymentPage
) -> None:
    calls = len(sandbox.requests)
    shown = text(remove(staff, gone, confirmed=False))
    assert "Only this site forgets these pages" in shown
    assert PaymentPage.objects.exists()
    response = remove(staff, gone)
    assert outcome(response) == "✓ Removed."
    assert not PaymentPage.objects.exists()
    entry = LogEntry.objects.get(action_flag=DELETION)
    assert (entry.object_id, entry.object_repr) == (str(gone.pk), "Tea box")
    assert entry.get_change_message() == "Deleted payment page “Tea box”."
    assert len(sandbox.requests) == calls, "nothing is sent to the service"
    assert staff.get("/admin/").status_code == 200, "the audit trail's line leads nowhere"
    assert "removed already" in text(remove(staff, gone))


def test_a_page_that_was_never_confirmed_is_removed(staff: Client, sandbox: Sandbox) -> None:
    page = PaymentPage.objects.create(name="Draft", slug="draft", slug_key="k", domain="test")
    assert outcome(remove(staff, page)) == "✓ Removed."
    assert not PaymentPage.objects.exists()


def test_a_page_that_the_service_has_stays(staff: Client, sandbox: Sandbox) -> None:
    page = create_page(name="Tea box", amount=10000, slug="tea-box")
    assert "The service has this page" in outcome(remove(staff, page))
    assert PaymentPage.objects.exists()


def test_a_page_that_was_paid_stays(staff: Client, sandbox: Sandbox) -> None:
    page = create_page(name="Tea box", amount=10000, slug="tea-box")
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=page.token)
    lose(sandbox, page)
    assert outcome(remove(staff, page)).startswith("✗")
    assert Transaction.objects.get().page == page


def test_a_page_that_an_expected_payment_names_stays(
    staff: Client, sandbox: Sandbox, gone: PaymentPage
) -> None:
    expect_payment("PPG-1", page=gone)
    assert "A payment names this page" in outcome(remove(staff, gone))
    assert PaymentPage.objects.exists()


def test_a_page_whose_payment_is_still_asked_about_stays(staff: Client, sandbox: Sandbox) -> None:
    page = create_page(name="Tea box", amount=10000, slug="tea-box")
    reference = sandbox.pay("tea-box", status="pending")
    confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)
    lose(sandbox, page)
    assert "still asked about" in outcome(remove(staff, page))
    assert PaymentPage.objects.exists()


def test_a_page_that_a_sync_found_again_meanwhile_stays(gone: PaymentPage) -> None:
    PaymentPage.objects.update(missing_since=None)
    with pytest.raises(PageError, match="has this page"):
        remove_page(gone)
    assert PaymentPage.objects.get().slug_key == slug_key("tea-box")


def test_what_the_sites_own_tables_must_not_lose_stays(
    staff: Client, sandbox: Sandbox, gone: PaymentPage
) -> None:
    """The example's offers go with their page, but not those that were ordered."""
    Order.objects.create(offer=Offer.objects.get(page=gone), expected=expect_payment("PPG-1"))
    assert "still needs this page" in outcome(remove(staff, gone))
    assert PaymentPage.objects.get().slug_key == slug_key("tea-box"), "nothing was done by halves"


def test_only_who_may_can_remove(
    person: Callable[..., Client], sandbox: Sandbox, gone: PaymentPage
) -> None:
    other = person("view_paymentpage", "change_paymentpage", "sync_paymentpage")
    assert "remove_pages" not in text(other.get(LIST))
    remove(other, gone)
    assert PaymentPage.objects.exists()
    allowed = person("view_paymentpage", "remove_paymentpage")
    assert outcome(remove(allowed, gone)) == "✓ Removed."


def test_each_of_several_pages_has_its_own_outcome(staff: Client, sandbox: Sandbox) -> None:
    stays = create_page(name="Stays", amount=100, slug="stays")
    goes = [
        PaymentPage.objects.create(
            name=f"Gone {number}", remote_id=500 + number, slug_key=f"{number}", domain="test",
            missing_since=timezone.now(),
        )
        for number in range(3)
    ]  # fmt: skip
    response = remove(staff, stays, *goes)
    assert "3 pages done." in " ".join(text(response).split())
    assert list(PaymentPage.objects.all()) == [stays]
    assert in_thread(PaymentPage.objects.count).result() == 1
