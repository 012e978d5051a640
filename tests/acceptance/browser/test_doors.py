"""A payer on a phone, in Arabic or Hebrew, pays, returns and reads what became of it."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from payments_pages.choices import Outcome
from payments_pages.confirmation import sweep_due
from payments_pages.models import PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.staff import reject, verify
from payments_pages.testing import let_time_pass
from tests.acceptance.browser.axe import violations
from tests.conftest import mirror_page
from tests.support.headings import HEADINGS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]

FAULTS: dict[str, dict[str, Any]] = {
    "checking": {"kind": "patch", "data": {"amount": 1}},
    "rejected": {"kind": "patch", "data": {"amount": 1}},
    "processing": {"kind": "patch", "data": {"status": "ongoing"}},
    "not_paid": {"kind": "patch", "data": {"status": "failed"}},
    "unavailable": {"kind": "status", "status": 503},
    "unknown": {"kind": "status", "status": 404},
}
MERCHANT: dict[str, Any] = {
    "NAME": {"en": "Olive & Sons", "ar": "زيتون وأبناؤه", "he": "זית ובניו"},
    "CONTACT": "help@shop.example.test",
    "NEXT_STEPS": {
        "en": "We send it tomorrow.",
        "ar": "نرسلها إليك غدا.",
        "he": "נשלח אותו מחר.",
    },
    "NEXT_URL": "/purchases/",
    "NEXT_LABEL": {"en": "Your purchases", "ar": "مشترياتك", "he": "הרכישות שלך"},
    "LOGO": "payments_pages/icon.svg",
    "COLOUR": "#ffd400",
    "RECEIPT": False,
}
ONWARDS = {"paid", "preparing", "checking", "rejected", "returned"}
"""Pages from which a payer goes on to the shop."""
# The pauses of the page's script, in seconds.
PAUSES = (3, 5, 10, 20, 20, 30, 30)

Pay = Callable[[Page, str], None]


@pytest.fixture
def tea(shop: str, sandbox: Sandbox, configure: Any) -> PaymentPage:
    """A page at the service whose payers come back to this shop."""
    configure(MERCHANT=MERCHANT)
    page = mirror_page(sandbox.add_page(name="شاي بالنعناع 250g", slug="tea", amount=10000))
    sandbox.set_page("tea", redirect_url=f"{shop}/payments/callback/{page.token}/")
    return page


@pytest.fixture
def pay(tea: PaymentPage, sandbox: Sandbox, configure: Any) -> Pay:
    """Pay on the service's page and come back, while the service says what leads to `outcome`."""

    def go(page: Page, outcome: str) -> None:
        sandbox.faults.clear()
        handler = "fail_always" if outcome == "preparing" else "give"
        configure(HANDLER=f"tests.support.goods.handlers.{handler}")
        if outcome in FAULTS:
            sandbox.faults.add(operation="verify", **FAULTS[outcome])
        page.goto(f"{sandbox.pay_url}/tea")
        page.locator("button[value=pay]").click()
        page.wait_for_url("**/payments/**")
        if outcome in {"rejected", "returned"}:
            later(outcome)
            page.reload()

    def later(outcome: str) -> None:
        transaction = Transaction.objects.select_related("fulfilment").latest("pk")
        if outcome == "rejected":
            assert reject(transaction, actor="lina", note="Not ours")
        else:
            sandbox.set_transaction(transaction.reference, status="reversed")
            verify(transaction, actor="lina")

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
        expect(page.get_by_role("banner")).to_have_text(MERCHANT["NAME"][language])
        contact = page.locator(".pp-contact a")
        expect(contact).to_have_attribute("href", re.compile(r"^mailto:help@shop\.example\.test"))
        onwards = page.get_by_role("link", name=MERCHANT["NEXT_LABEL"][language])
        expect(onwards).to_have_count(1 if outcome in ONWARDS else 0)
        expect(page.locator("header img")).to_have_js_property("complete", True)
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
    page = browser.new_page(locale=spoken)
    for outcome, heading in HEADINGS[spoken].items():
        pay(page, outcome)
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width in (320, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                found = [one["id"] + one["nodes"][0]["html"] for one in violations(page)]
                assert not found, (outcome, scheme, width)
                assert not overflows(page)


def test_a_late_success_takes_the_place_of_what_was_told_without_moving_the_payer(
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
    page.get_by_role("link", name="English").focus()
    status = page.get_by_role("status")
    with page.expect_response("**/status/"):
        page.clock.run_for(PAUSES[0] * 1000)
    expect(status).to_be_empty()

    sandbox.faults.clear()
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    with page.expect_response("**/status/"):
        page.clock.run_for(PAUSES[1] * 1000)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(HEADINGS["en"]["paid"])
    expect(heading).to_have_count(1)
    expect(status).to_have_text(HEADINGS["en"]["paid"])
    expect(page).to_have_title(f"{HEADINGS['en']['paid']} – Olive & Sons")
    expect(page.get_by_text("Do not pay again")).to_have_count(0)
    expect(page.get_by_role("link", name="Check again")).to_have_count(0)
    expect(page.get_by_role("link", name="English")).to_be_focused()
    expect(page.get_by_role("button", name="Print")).to_have_count(1)
    assert page.evaluate("window.neverReloaded") is True
    assert page.url == address
    page.clock.run_for(10 * 60 * 1000)
    assert len(asked) == 2
    assert refused == []


def test_a_title_without_a_shop_is_replaced_whole(
    context: BrowserContext, pay: Pay, sandbox: Sandbox, configure: Any
) -> None:
    page = context.new_page()
    page.clock.install()
    pay(page, "preparing")
    configure(MERCHANT=None)
    page.reload()
    expect(page).to_have_title(HEADINGS["en"]["preparing"])
    configure(HANDLER="tests.support.goods.handlers.give")
    let_time_pass(3600)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    with page.expect_response("**/status/"):
        page.clock.run_for(PAUSES[0] * 1000)
    expect(page).to_have_title(HEADINGS["en"]["paid"])


def test_who_stands_on_what_goes_away_is_taken_to_the_new_heading(
    context: BrowserContext, pay: Pay, sandbox: Sandbox
) -> None:
    page = context.new_page()
    page.clock.install()
    pay(page, "processing")
    page.get_by_role("link", name="Check again").focus()
    sandbox.faults.clear()
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    with page.expect_response("**/status/"):
        page.clock.run_for(PAUSES[0] * 1000)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(HEADINGS["en"]["paid"])
    expect(heading).to_be_focused()


def test_a_new_state_that_cannot_be_fetched_is_told_with_a_link(
    context: BrowserContext, pay: Pay, sandbox: Sandbox
) -> None:
    page = context.new_page()
    page.clock.install()
    pay(page, "processing")
    sandbox.faults.clear()
    let_time_pass(60)
    sweep_due()
    page.route("**/result/*/", lambda route: route.abort())
    with page.expect_response("**/status/"):
        page.clock.run_for(PAUSES[0] * 1000)
    status = page.get_by_role("status")
    expect(status).to_contain_text("The state of your payment has changed.")
    page.unroute_all()
    status.get_by_role("link", name="Show it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS["en"]["paid"])


def test_the_reference_is_copied_by_a_button(context: BrowserContext, pay: Pay) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    pay(page, "checking")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == Transaction.objects.get().reference


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
        "Nothing has changed yet. You can close this page."
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
