"""The list of references, and the timeline under each, have room for all they show."""

import pytest
from playwright.sync_api import Browser, Page

from payments_pages.choices import Door, VerificationState
from payments_pages.models import Event, Verification
from payments_pages.references import reference_key
from tests.acceptance.browser.staff import sign_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]

LIST = "/admin/payments_pages/verification/"
LONGEST = "r" * 128


@pytest.fixture
def row(shop: str) -> Verification:
    """One reference of many letters that the service does not answer about."""
    row = Verification.objects.create(
        reference=LONGEST,
        reference_key=reference_key(LONGEST),
        state=VerificationState.DUE,
        attempts=12,
        first_door=Door.CALLBACK,
        last_error="ServiceUnavailable: The service did not answer within the call's time.",
    )
    Verification.objects.update(next_at=row.created_at, asked_at=row.created_at)
    Event.objects.create(
        reference_key=row.reference_key, kind="noted", actor="a" * 20, door="admin"
    )
    return row


def opened(browser: Browser, address: str, language: str, width: int) -> Page:
    page = browser.new_page(locale=language, viewport={"width": width, "height": 900})
    origin, _slashes, path = address.partition("/admin/")
    sign_in(page, origin)
    page.goto(f"{origin}/admin/{path}")
    return page


def overflow(page: Page, selector: str) -> int:
    wider: int = page.locator(selector).evaluate("it => it.scrollWidth - it.clientWidth")
    return wider


@pytest.mark.parametrize("language", ["en", "ar", "he"])
@pytest.mark.parametrize("width", [1280, 1440])
def test_no_column_of_the_list_is_cut_off(
    browser: Browser, shop: str, row: Verification, language: str, width: int
) -> None:
    page = opened(browser, shop + LIST, language, width)
    assert page.locator("#changelist-filter").is_visible()
    assert overflow(page, "#changelist-form .results") == 0


@pytest.mark.parametrize("language", ["en", "ar", "he"])
def test_on_a_telephone_the_timeline_says_all_without_scrolling(
    browser: Browser, shop: str, row: Verification, language: str
) -> None:
    page = opened(browser, f"{shop}{LIST}{row.pk}/change/", language, 390)
    assert page.locator(".pp-timeline tbody tr").count() == 3
    assert overflow(page, ".pp-scroll") <= 0
