"""The list of pages has room for all it shows, however long it is."""

import pytest
from playwright.sync_api import Browser, Page, expect

from payments_pages.models import PaymentPage
from payments_pages.pages import slug_key
from tests.acceptance.browser.staff import sign_in
from tests.unit.admin.payments import paid

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]

LIST = "/admin/payments_pages/paymentpage/"
NAMES = {
    "words": ("A page with a name of many letters " * 7)[:240],
    "one word": "n" * 240,
    "arabic": ("صفحة دفع باسم طويل جدا " * 11)[:240],
}


@pytest.fixture
def long_rows(shop: str) -> str:
    """Pages with long names, a price of eleven digits, and a state of each kind; the address."""
    for number, (kind, name) in enumerate(NAMES.items(), 1):
        slug = f"{kind.replace(' ', '-')}-{'s' * 80}"
        page = PaymentPage.objects.create(
            remote_id=number, name=name, slug=slug, slug_key=slug_key(slug), currency="ILS",
            amount=9_999_999_999_900 + number, domain="test", drift={"amount": 5},
        )  # fmt: skip
        paid(amount=123_456_750, page=page, reference=f"ppg-{number}")
    PaymentPage.objects.create(name="Tea", slug="tea", slug_key=slug_key("tea"), domain="live")
    return shop


def opened(browser: Browser, shop: str, language: str, width: int) -> Page:
    page = browser.new_page(locale=language, viewport={"width": width, "height": 900})
    sign_in(page, shop)
    page.goto(shop + LIST)
    expect(page.locator("#result_list .pp-copy-button")).to_have_count(len(NAMES))
    return page


def cut_off(page: Page, selector: str) -> int:
    wider: int = page.locator(selector).evaluate("it => it.scrollWidth - it.clientWidth")
    return wider


@pytest.mark.parametrize("language", ["en", "ar", "he"])
@pytest.mark.parametrize("width", [1280, 1440])
def test_nothing_is_cut_off_beside_the_menu_and_the_filters(
    browser: Browser, long_rows: str, language: str, width: int
) -> None:
    page = opened(browser, long_rows, language, width)
    assert page.locator("#nav-sidebar").is_visible()
    assert page.locator("#changelist-filter").is_visible()
    assert cut_off(page, "#changelist-form .results") == 0
    assert cut_off(page, "html") == 0
    assert "99,999,999,999.01" in page.locator("#result_list").inner_text()
    line: float = page.locator("#result_list tbody tr").last.evaluate(
        "row => parseFloat(getComputedStyle(row.cells[1]).lineHeight) || 18"
    )
    names = page.locator("#result_list .field-name a")
    for name in names.all():
        box = name.bounding_box()
        assert box
        assert box["height"] <= 2.5 * line, "two lines of a name at most"


@pytest.mark.parametrize("language", ["en", "ar"])
def test_the_page_itself_is_no_wider_than_a_telephone(
    browser: Browser, long_rows: str, language: str
) -> None:
    assert cut_off(opened(browser, long_rows, language, 390), "html") == 0


def test_an_address_that_is_copied_by_hand_fits_as_well(browser: Browser, long_rows: str) -> None:
    page = browser.new_page(locale="en", viewport={"width": 1280, "height": 900})
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    sign_in(page, long_rows)
    page.goto(long_rows + LIST)
    page.locator("#result_list .pp-copy-button").first.click()
    expect(page.get_by_label("Select the address and copy it")).to_be_focused()
    assert cut_off(page, "#changelist-form .results") == 0
