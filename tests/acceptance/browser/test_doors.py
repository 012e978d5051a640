"""A payer on a phone, in Arabic or Hebrew, pays, returns and reads what became of it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from payments_pages.choices import Outcome
from payments_pages.confirmation import sweep_due
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import mirror_page
from tests.support.headings import HEADINGS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]

FAULTS: dict[str, dict[str, Any]] = {
    "checking": {"kind": "patch", "data": {"amount": 1}},
    "processing": {"kind": "patch", "data": {"status": "ongoing"}},
    "not_paid": {"kind": "patch", "data": {"status": "failed"}},
    "unavailable": {"kind": "status", "status": 503},
    "unknown": {"kind": "status", "status": 404},
}
MERCHANT = {
    "MERCHANT_NAME": {"en": "Olive & Sons", "ar": "زيتون وأبناؤه", "he": "זית ובניו"},
    "MERCHANT_CONTACT": "help@shop.example.test",
    "WHAT_HAPPENS_NEXT": {
        "en": "We send it tomorrow.",
        "ar": "نرسلها إليك غدا.",
        "he": "נשלח אותו מחר.",
    },
}
# The pauses of the page's script, in seconds.
PAUSES = (3, 5, 10, 20, 20, 30, 30)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

Pay = Callable[[Page, str], None]


@pytest.fixture
def tea(shop: str, sandbox: Sandbox, configure: Any) -> PaymentPage:
    """A page at the service whose payers come back to this shop."""
    configure(**MERCHANT)
    page = mirror_page(sandbox.add_page(name="شاي بالنعناع 250g", slug="tea", amount=10000))
    sandbox.set_page("tea", redirect_url=f"{shop}/payments/callback/{page.token}/")
    return page


@pytest.fixture
def pay(tea: PaymentPage, sandbox: Sandbox) -> Pay:
    """Pay on the service's page and come back, while the service says what leads to `outcome`."""

    def go(page: Page, outcome: str) -> None:
        sandbox.faults.clear()
        if outcome in FAULTS:
            sandbox.faults.add(operation="verify", **FAULTS[outcome])
        page.goto(f"{sandbox.pay_url}/tea")
        page.get_by_role("button", name="Pay", exact=True).click()
        page.wait_for_url("**/payments/**")

    return go


@pytest.fixture(params=["ar", "he"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def phone(browser: Browser, language: str) -> Iterator[BrowserContext]:
    with browser.new_context(
        viewport={"width": 390, "height": 780},
        device_scale_factor=2,
        is_mobile=True,
        has_touch=True,
        locale=language,
        timezone_id="Asia/Hebron",
    ) as context:
        context.set_default_timeout(15_000)
        yield context


def overflows(page: Page) -> bool:
    """Tell whether anything sticks out sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    return bool(wide)


def listen(page: Page) -> list[str]:
    """Gather what the browser refuses because of the page's policy."""
    refused: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            refused.append(message.text)

    page.on("console", hear)
    return refused


def test_a_payer_on_a_phone_reads_each_outcome(
    phone: BrowserContext, language: str, pay: Pay, sandbox: Sandbox
) -> None:
    page = phone.new_page()
    refused = listen(page)
    for outcome, heading in HEADINGS[language].items():
        pay(page, outcome)
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        root = page.locator("html")
        expect(root).to_have_attribute("lang", language)
        expect(root).to_have_attribute("dir", "rtl")
        expect(page.get_by_role("banner")).to_have_text(MERCHANT["MERCHANT_NAME"][language])
        expect(page.locator(".pp-contact a")).to_have_attribute(
            "href", "mailto:help@shop.example.test"
        )
        assert not overflows(page)
        assert "payer@example.test" not in page.content()
        in_sight = page.get_by_role("heading", level=1).bounding_box()
        assert in_sight is not None
        assert in_sight["y"] + in_sight["height"] < 780
        for target in page.locator("main a:visible, main button:visible, nav a").all():
            box = target.bounding_box()
            assert box is not None
            assert box["height"] >= 44
    assert refused == []


def test_amounts_and_references_keep_their_order_in_a_page_from_right_to_left(
    phone: BrowserContext, pay: Pay
) -> None:
    page = phone.new_page()
    pay(page, "paid")
    amount = page.locator("dd bdi").first
    expect(amount).to_have_text("100.00\u00a0ILS")
    # Where the first and the last sign are drawn: left to right.
    first, last = amount.evaluate(
        """node => {
            const at = index => {
                const range = document.createRange();
                range.setStart(node.firstChild, index);
                range.setEnd(node.firstChild, index + 1);
                return range.getBoundingClientRect().left;
            };
            return [at(0), at(node.firstChild.length - 1)];
        }"""
    )
    assert first < last
    label = page.locator("dt").first.bounding_box()
    value = amount.bounding_box()
    assert label is not None
    assert value is not None
    assert label["x"] > value["x"], "the label stands at the start: on the right"


def test_the_language_is_switched_by_a_link_and_stays(
    phone: BrowserContext, language: str, pay: Pay
) -> None:
    page = phone.new_page()
    pay(page, "processing")
    page.get_by_role("link", name="English").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS["en"]["processing"])
    expect(page.locator("html")).to_have_attribute("dir", "ltr")
    page.get_by_role("link", name="Check again").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS["en"]["processing"])


@pytest.mark.parametrize("spoken", ["en", "ar", "he"])
def test_axe_finds_nothing_on_any_outcome_wide_or_narrow_light_or_dark(
    browser: Browser, pay: Pay, spoken: str
) -> None:
    axe = Axe()
    page = browser.new_page(locale=spoken)
    for outcome, heading in HEADINGS[spoken].items():
        pay(page, outcome)
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width in (320, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                found = axe.run(page, options={"runOnly": RULES, "resultTypes": ["violations"]})
                assert found.violations_count == 0, (outcome, scheme, width, found.response)
                assert not overflows(page)


def test_a_late_success_is_announced_without_moving_the_payer_and_then_asked_no_more(
    context: BrowserContext, pay: Pay, sandbox: Sandbox
) -> None:
    page = context.new_page()
    refused = listen(page)
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(request.url) if "/status/" in request.url else None
    )
    page.clock.install()
    pay(page, "processing")
    address = page.url
    page.evaluate("window.neverReloaded = true")
    page.get_by_role("link", name="Check again").focus()
    status = page.get_by_role("status")
    with page.expect_response("**/status/"):
        page.clock.run_for(PAUSES[0] * 1000)
    expect(status).to_be_empty()

    sandbox.faults.clear()
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    with page.expect_response("**/status/"):
        page.clock.run_for(PAUSES[1] * 1000)
    expect(status).to_contain_text("The state of your payment has changed.")
    expect(page.get_by_role("link", name="Check again")).to_be_focused()
    expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS["en"]["processing"])
    assert page.evaluate("window.neverReloaded") is True
    assert page.url == address

    page.clock.run_for(10 * 60 * 1000)
    assert len(asked) == 2
    status.get_by_role("link", name="Show it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS["en"]["paid"])
    assert refused == []


def test_a_page_that_nothing_happens_to_stops_asking_after_two_minutes(
    context: BrowserContext, pay: Pay
) -> None:
    page = context.new_page()
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(request.url) if "/status/" in request.url else None
    )
    page.clock.install()
    pay(page, "processing")
    for seconds in PAUSES:
        with page.expect_response("**/status/"):
            page.clock.run_for(seconds * 1000)
    expect(page.get_by_role("status")).to_have_text(
        "It is still being processed. You can close this page."
    )
    page.clock.run_for(60 * 60 * 1000)
    assert len(asked) == len(PAUSES)


def test_without_a_script_check_again_does_it(browser: Browser, pay: Pay, sandbox: Sandbox) -> None:
    with browser.new_context(java_script_enabled=False, locale="en") as context:
        page = context.new_page()
        pay(page, "unavailable")
        expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS["en"]["unavailable"])
        expect(page.get_by_role("button")).to_have_count(0)
        sandbox.faults.clear()
        let_time_pass(10)
        page.get_by_role("link", name="Check again").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS["en"]["paid"])


def test_the_record_can_be_printed_without_its_buttons(context: BrowserContext, pay: Pay) -> None:
    page = context.new_page()
    pay(page, "paid")
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    expect(page.locator("nav")).to_be_hidden()
    for part in ("h1", "dl", ".pp-contact", "header"):
        expect(page.locator(part)).to_be_visible()
    assert page.locator("h1").evaluate("node => getComputedStyle(node).color") == "rgb(0, 0, 0)"
    for shown in page.locator("dt, dd, .pp-contact, .pp-contact a, .pp-banner").all():
        paint = shown.evaluate("node => getComputedStyle(node).color")
        darkest = max(int(part) for part in paint.removeprefix("rgb(").rstrip(")").split(","))
        assert darkest < 160, "pale ink of the dark scheme on white paper"
