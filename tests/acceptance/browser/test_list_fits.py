"""The list of payments and its totals have room for all they show, however long it is."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from payments_pages.choices import FulfilmentState, Reason
from payments_pages.models import Fulfilment, PaymentPage
from tests.acceptance.browser.staff import sign_in
from tests.unit.admin.payments import paid

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]

LIST = "/admin/payments_pages/transaction/"
EMAIL = f"{'a' * 40}@example.com"
NAME = "A page with a name of many letters " * 7


@pytest.fixture
def long_row(shop: str) -> str:
    """One held payment of seven digits, with the longest of everything; the shop's address."""
    assert (len(EMAIL), len(NAME[:240])) == (52, 240)
    page = PaymentPage.objects.create(remote_id=1, name=NAME[:240], slug_key="1", domain="test")
    row = paid(amount=123_456_750, customer_email=EMAIL, page=page, reference="r" * 128)
    Fulfilment.objects.create(
        transaction=row,
        reference_key=row.reference_key,
        state=FulfilmentState.HELD,
        reason=Reason.ATTRIBUTION_CONFLICT,
    )
    paid(amount=100, currency="JOD", page=page)
    return shop


def opened(browser: Browser, shop: str, language: str, width: int) -> Page:
    page = browser.new_page(locale=language, viewport={"width": width, "height": 900})
    sign_in(page, shop)
    page.goto(shop + LIST)
    expect(page.locator(".pp-copy-button")).to_have_count(2)
    return page


def widths(page: Page, selector: str) -> Any:
    return page.locator(selector).evaluate("it => [it.scrollWidth, it.clientWidth]")


@pytest.mark.parametrize("language", ["en", "ar", "he"])
@pytest.mark.parametrize("width", [1280, 1440])
def test_nothing_is_cut_off_beside_the_menu_and_the_filters(
    browser: Browser, long_row: str, language: str, width: int
) -> None:
    page = opened(browser, long_row, language, width)
    assert page.locator("#nav-sidebar").is_visible()
    assert page.locator("#changelist-filter").is_visible()
    for selector in ("#changelist-form .results", ".pp-totals-figures", "html"):
        scrolled, seen = widths(page, selector)
        assert scrolled == seen, selector
    assert "1,234,567.50" in page.locator("#result_list").inner_text()
    assert "1,234,567.50" in page.locator(".pp-totals-figures").inner_text()


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("width", [390, 768])
def test_the_page_itself_is_no_wider_than_a_narrow_window(
    browser: Browser, long_row: str, language: str, width: int
) -> None:
    page = opened(browser, long_row, language, width)
    scrolled, seen = widths(page, "html")
    assert scrolled == seen
    rows = page.locator("#changelist-form").bounding_box()
    filters = page.locator("#changelist-filter").bounding_box()
    assert rows
    assert filters
    assert filters["y"] >= rows["y"] + rows["height"], "the filters are below the list"
    assert rows["width"] == page.locator("#content-main").bounding_box()["width"]  # type: ignore[index]


def test_what_is_between_the_tools_and_the_rest_is_as_wide_as_the_screen(
    browser: Browser, long_row: str
) -> None:
    """Django 6.1 puts all that is in the block of the tools into one row with the title."""
    page = opened(browser, long_row, "en", 1280)
    form = f"/admin/payments_pages/paymentpage/{PaymentPage.objects.get().pk}/change/"
    for path, selector in ((LIST, "#pp-totals"), (LIST, ".pp-queues"), (form, ".pp-notice")):
        page.goto(long_row + path)
        both = [page.locator(one).first.bounding_box() for one in (selector, "#content-main")]
        added, rest = (box["width"] if box else 0 for box in both)
        assert added == rest, selector


def test_links_that_look_like_buttons_are_not_underlined(browser: Browser, long_row: str) -> None:
    page = opened(browser, long_row, "en", 1280)
    held = Fulfilment.objects.get().transaction_id
    for path, selector in (
        ("/admin/", ".pp-needs a.button"),
        (f"{LIST}{held}/change/", ".pp-actions a.button"),
        (f"{LIST}{held}/approve/", ".pp-cancel"),
    ):
        page.goto(long_row + path)
        style = "all => all.map(it => getComputedStyle(it).textDecorationLine)"
        lines = page.locator(selector).evaluate_all(style)
        assert lines, selector
        assert set(lines) == {"none"}, selector


@pytest.mark.parametrize("language", ["en", "ar", "he"])
def test_the_question_about_ticked_payments_fits_a_telephone(
    browser: Browser, long_row: str, language: str
) -> None:
    page = opened(browser, long_row, language, 1280)
    page.locator("input.action-select").nth(1).check()
    page.locator("select[name=action]").select_option("reject_held")
    page.locator("button[name=index]").click()
    page.set_viewport_size({"width": 390, "height": 780})
    scrolled, seen = widths(page, ".pp-scroll")
    assert scrolled == seen


def test_the_totals_stay_open_or_closed_as_they_were_left(browser: Browser, long_row: str) -> None:
    page = opened(browser, long_row, "en", 1280)
    totals = page.locator("#pp-totals")
    expect(totals).to_have_attribute("open", "")
    totals.locator("summary").first.click()
    page.reload()
    expect(totals).not_to_have_attribute("open", "")
    totals.locator("summary").first.click()
    page.reload()
    expect(totals).to_have_attribute("open", "")


def test_on_a_telephone_the_totals_are_closed_at_first(browser: Browser, long_row: str) -> None:
    page = opened(browser, long_row, "en", 390)
    expect(page.locator("#pp-totals")).not_to_have_attribute("open", "")


def test_a_reference_is_copied_whole(browser: Browser, long_row: str) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    sign_in(page, long_row)
    page.goto(f"{long_row}{LIST}?q=rrr")
    assert "…" in page.locator("#result_list .pp-copy bdi").inner_text()
    page.locator("#result_list .pp-copy-button").click()
    expect(page.locator("#result_list .pp-copied")).to_have_count(1)
    assert page.evaluate("navigator.clipboard.readText()") == "r" * 128
    context.close()


def test_days_are_chosen_without_a_script(browser: Browser, long_row: str) -> None:
    context = browser.new_context(java_script_enabled=False, locale="en")
    page = context.new_page()
    sign_in(page, long_row)
    page.goto(f"{long_row}{LIST}?status=success")
    page.locator("input[name=paid_at__from]").fill("2020-01-01")
    page.locator("input[name=paid_at__to]").fill("2020-12-31")
    page.locator(".pp-days button").click()
    assert "status=success" in page.url
    expect(page.locator(".pp-nothing")).to_contain_text("Nothing found.")
    assert page.locator(".pp-days input[type=date]").first.input_value() == "2020-01-01"
    context.close()
