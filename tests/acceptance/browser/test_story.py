"""The whole story, as a merchant and a payer live it."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from example_project.shop.models import Licence
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from tests.acceptance.browser.staff import choose_action, sign_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]


def make_page(page: Page, shop: str) -> None:
    page.goto(f"{shop}/admin/payments_pages/paymentpage/add/")
    page.locator("#id_name").fill("Olive oil")
    page.locator("#id_amount").fill("120.50")
    page.locator("#id_description").fill("One litre, first press")
    page.locator("#id_slug").fill("olive-oil")
    page.get_by_label("Question 1").first.fill("Delivery address")
    page.get_by_role("button", name="Save", exact=True).click()


def test_from_a_page_made_in_the_admin_to_value_given_once(
    context: BrowserContext, browser: Any, shop: str, sandbox: Sandbox
) -> None:
    staff = context.new_page()
    sign_in(staff, shop)
    make_page(staff, shop)
    expect(staff.get_by_text("was added successfully")).to_be_visible()
    mirrored = PaymentPage.objects.get()
    assert (mirrored.amount, mirrored.currency) == (12050, "ILS")

    payer = context.new_page()
    payer.goto(f"{sandbox.pay_url}/olive-oil")
    expect(payer.get_by_role("heading", name="Olive oil")).to_be_visible()
    expect(payer.locator("body")).to_contain_text("120.50")
    payer.get_by_label("Delivery address").fill("رام الله")
    payer.get_by_role("button", name="Pay", exact=True).click()
    expect(payer.get_by_role("heading", level=1)).to_have_text("Payment received")
    expect(payer.locator("body")).to_contain_text("120.50\u00a0ILS")
    assert "reference" not in payer.url
    reference = Transaction.objects.get().reference

    # Back, reload, the callback again in another browser: still once.
    payer.reload()
    payer.go_back()
    payer.go_forward()
    with browser.new_context() as elsewhere:
        other = elsewhere.new_page()
        other.goto(f"{shop}/payments/callback/{mirrored.token}/?reference={reference}")
        expect(other.get_by_role("heading", level=1)).to_have_text("Payment received")
        assert "payer@example.test" not in other.content()
    assert Licence.objects.count() == Fulfilment.objects.count() == 1
    assert sandbox.verify_calls(reference) == 1

    payer.goto(f"{shop}/purchases/")
    expect(payer.locator("body")).to_contain_text(Licence.objects.get().code)

    staff.goto(f"{shop}/admin/payments_pages/transaction/")
    expect(staff.locator("#result_list")).to_contain_text("120.50\u00a0ILS")
    staff.locator("#result_list tbody th a").click()
    expect(staff.locator("body")).to_contain_text("delivered")
    expect(staff.get_by_role("button", name="Save")).to_have_count(0)
    expect(staff.get_by_role("link", name="Delete")).to_have_count(0)


def test_a_change_and_a_deactivation_reach_the_payers(
    context: BrowserContext, shop: str, sandbox: Sandbox
) -> None:
    staff = context.new_page()
    sign_in(staff, shop)
    make_page(staff, shop)
    staff.get_by_role("link", name="Olive oil").first.click()
    staff.locator("#id_name").fill("Green olive oil")
    staff.locator("#id_amount").fill("99.90")
    staff.get_by_role("button", name="Save", exact=True).click()
    expect(staff.get_by_text("was changed successfully")).to_be_visible()

    payer = context.new_page()
    payer.goto(f"{sandbox.pay_url}/olive-oil")
    expect(payer.get_by_role("heading", name="Green olive oil")).to_be_visible()
    expect(payer.locator("body")).to_contain_text("99.90")

    staff.goto(f"{shop}/admin/payments_pages/paymentpage/")
    staff.locator("input.action-select").check()
    choose_action(staff, "deactivate_pages")
    staff.get_by_role("button", name="Deactivate pages").click()
    expect(staff.get_by_text("1 page done.")).to_be_visible()
    answer = payer.goto(f"{sandbox.pay_url}/olive-oil")
    assert answer is not None
    assert answer.status == 404


def test_a_payer_who_closes_the_tab_is_served_by_the_sweep(
    context: BrowserContext, shop: str, sandbox: Sandbox
) -> None:
    """The payer comes back while the service is down, gives up, and gets the goods all the same."""
    from django.core.management import call_command

    from payments_pages.testing import let_time_pass

    staff = context.new_page()
    sign_in(staff, shop)
    make_page(staff, shop)
    payer = context.new_page()
    payer.goto(f"{sandbox.pay_url}/olive-oil")
    sandbox.faults.add(operation="verify", kind="status", status=503)
    payer.get_by_role("button", name="Pay", exact=True).click()
    expect(payer.get_by_role("heading", level=1)).to_have_text(
        "We cannot confirm your payment right now"
    )
    expect(payer.get_by_text("Do not pay again yet.")).to_be_visible()
    payer.close()
    sandbox.faults.clear()
    let_time_pass(60)
    call_command("payments_pages_sweep")
    assert Licence.objects.count() == 1
