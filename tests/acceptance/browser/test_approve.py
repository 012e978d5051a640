"""Staff decide about a held payment with the keyboard alone."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from example_project.shop.models import Licence
from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment
from payments_pages.sandbox import Sandbox
from tests.conftest import mirror_page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_STEPS = 130  # from 6.0 on, Django has its filters before the list


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has this name, as a screen reader says it, has the focus."""
    for _step in range(MOST_STEPS):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "() => { const e = document.activeElement;"
            " return (e.getAttribute('aria-label') || e.innerText || e.value || '').trim(); }"
        )
        if str(found) == name:
            return
    raise AssertionError(f"{name} cannot be reached by the keyboard")


def press(page: Page, name: str) -> None:
    tab_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_a_held_payment_is_found_and_approved_without_a_mouse(
    context: BrowserContext, shop: str, sandbox: Sandbox, configure: Any
) -> None:
    tea = mirror_page(sandbox.add_page(name="Tea box", slug="tea-box", amount=10000))
    sandbox.pay("tea-box", amount=9999, reference="PPG-HELD")
    found = confirm_payment("PPG-HELD", door=Door.CALLBACK, page_token=tea.token)
    assert found.outcome is Outcome.HELD
    page = context.new_page()
    page.goto(f"{shop}/admin/login/?next=/admin/payments_pages/")
    # Django's login page puts the cursor there; what is typed before that is lost.
    expect(page.locator("[name=username]")).to_be_focused()
    page.keyboard.type("admin")
    page.keyboard.press("Tab")
    page.keyboard.type("open sesame")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()
    press(page, "1 payment is held: it waits for a decision.")
    expect(page.locator("#result_list")).to_contain_text("PPG-HELD")
    press(page, page.locator("#result_list tbody th a").inner_text().strip())
    expect(page.locator("#pp-why-heading")).to_contain_text("paid less than the price")
    press(page, "Approve and deliver…")
    for _step in range(MOST_STEPS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "note":
            break
    page.keyboard.type("Paid the rest in cash")
    press(page, "Approve and deliver")
    expect(page.locator(".messagelist")).to_contain_text("delivered now")
    expect(page.locator("#pp-why-heading")).to_have_text("Delivered")
    expect(page.locator(".pp-timeline")).to_contain_text("Paid the rest in cash")
    assert Licence.objects.count() == 1
    assert Fulfilment.objects.get().decided_by == "admin"
