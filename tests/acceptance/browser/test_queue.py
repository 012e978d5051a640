"""Staff work off the queue of held payments in few clicks."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from example_project.shop.models import Licence
from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment
from payments_pages.sandbox import Sandbox
from tests.acceptance.browser.staff import sign_in
from tests.conftest import mirror_page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HELD = 6
MOST_CLICKS = 17


def test_six_held_payments_are_decided_in_few_clicks(
    context: BrowserContext, shop: str, sandbox: Sandbox, configure: Any
) -> None:
    tea = mirror_page(sandbox.add_page(name="Tea box", slug="tea-box", amount=10000))
    for _payment in range(HELD):
        reference = sandbox.pay("tea-box", amount=9999)
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea.token)
        assert found.outcome is Outcome.HELD
    page, clicks = context.new_page(), 0
    sign_in(page, shop, "admin", "open sesame")
    page.goto(f"{shop}/admin/")

    def click(what: Locator) -> None:
        nonlocal clicks
        clicks += 1
        with page.expect_navigation():
            what.click()

    click(page.get_by_role("link", name=f"{HELD} payments are held"))
    click(page.locator("#result_list tbody th a").first)
    for left in range(HELD - 1, -1, -1):
        click(page.locator(".pp-actions a[href*='/reject/']"))
        page.locator("textarea[name=note]").fill("Refunded at the service.")
        on = page.locator("input[name=_next]")
        expect(on).to_have_count(1 if left else 0)
        click(on if left else page.locator(".submit-row input.default"))
        expect(page.locator(".messagelist .success")).to_contain_text("rejected")
    states = Fulfilment.objects.values_list("state", "decided_by")
    assert list(states) == [(FulfilmentState.REJECTED, "admin")] * HELD
    assert not Licence.objects.exists()
    assert clicks <= MOST_CLICKS
    # Django 6.1 gives this link the role of a button.
    close = page.get_by_role("link", name="Close").or_(page.get_by_role("button", name="Close"))
    click(close)
    expect(page.locator(".pp-queues")).to_contain_text("Nothing waits here")
