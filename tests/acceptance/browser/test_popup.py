"""Paying in a popup on the shop's own page, on a phone."""

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.management import call_command
from playwright.sync_api import Browser, FrameLocator, Page, Route, expect

from example_project.shop.models import Licence, Offer, Order
from payments_pages.choices import FulfilmentState, Reason
from payments_pages.models import Fulfilment
from payments_pages.pages import create_page
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.acceptance.example.conftest import popup_settings

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]

WORDS = {
    "en": {
        "buy": "Buy: Gift card", "email": "E-mail", "pay": "Pay", "title": "Payment",
        "close": "Close the payment window", "cancelled": "You have not paid yet.",
        "leave": "You may close this tab.", "failed": "Payment failed",
        "paid": "Payment received", "checking": "Payment received – we are checking it",
    },
    "ar": {
        "buy": "شراء: Gift card", "email": "البريد الإلكتروني", "pay": "ادفع", "title": "الدفع",
        "close": "إغلاق نافذة الدفع", "cancelled": "لم تدفع بعد.",
        "leave": "يمكنك إغلاق هذا التبويب.", "failed": "فشلت الدفعة",
        "paid": "تم استلام دفعتك", "checking": "تم استلام دفعتك – نقوم بمراجعتها",
    },
}  # fmt: skip


class Buyer:
    """Somebody with a phone, in front of the shop."""

    def __init__(self, page: Page, shop: str, language: str) -> None:
        self.page, self.shop, self.words = page, shop, WORDS[language]

    def order(self) -> str:
        """Order the gift card; return the reference that is expected. The scripts have run."""
        self.page.goto(self.shop)
        self.page.get_by_role("button", name=self.words["buy"]).click()
        self.page.wait_for_url("**/orders/*/")  # and for its scripts, unlike a click
        self.page.get_by_label(self.words["email"]).fill("payer@example.test")
        return Order.objects.get().expected.reference

    def open(self) -> FrameLocator:
        self.page.get_by_role("button", name=self.words["pay"], exact=True).click()
        frame = self.page.frame_locator("dialog iframe")
        expect(frame.get_by_role("heading", level=1)).to_be_visible()
        return frame

    def press(self, button: str, frame: FrameLocator | None = None) -> None:
        inside = frame or self.open()
        inside.locator(f"button[value={button}]").click()

    def sees(self, words: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_have_text(self.words[words])

    def is_told(self, words: str) -> None:
        expect(self.page.get_by_role("status")).to_contain_text(self.words[words])
        expect(self.page.get_by_role("dialog")).to_have_count(0)


@pytest.fixture(params=["en", "ar"])
def buyer(
    request: pytest.FixtureRequest, browser: Browser, shop: str, sandbox: Sandbox, settings: Any
) -> Iterator[Buyer]:
    settings.POPUP = popup_settings(sandbox)
    gift_card = create_page(name="Gift card", amount=5000, slug="gift-card")
    Offer.objects.filter(page=gift_card).update(popup=True)
    phone = {"width": 390, "height": 780}
    with browser.new_context(
        viewport=phone,
        locale=request.param,
        has_touch=True,
        is_mobile=True,  # type: ignore[arg-type]
    ) as context:
        context.set_default_timeout(15_000)
        page = context.new_page()
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "console",
            lambda line: (
                troubles.append(line.text) if "Content Security Policy" in line.text else None
            ),
        )
        yield Buyer(page, shop, request.param)
        assert troubles == []


def test_who_pays_in_the_popup_gets_one_licence(buyer: Buyer, sandbox: Sandbox) -> None:
    reference = buyer.order()
    buyer.press("pay")
    buyer.sees("paid")
    assert "reference" not in buyer.page.url
    licence = Licence.objects.get()
    assert licence.order == Order.objects.get()
    assert licence.fulfilment.transaction.reference == reference
    assert sandbox.verify_calls(reference) == 1
    # Back to the order: it says that it is paid, and offers no second payment.
    buyer.page.go_back()
    expect(buyer.page.locator("form[data-popup]")).to_have_count(0)


def test_the_popup_is_a_dialog_that_fits_the_phone_and_gives_the_focus_back(
    buyer: Buyer,
) -> None:
    buyer.order()
    frame = buyer.open()
    dialog = buyer.page.get_by_role("dialog", name=buyer.words["title"])
    assert dialog.get_attribute("aria-modal") == "true"
    box = buyer.page.locator("dialog iframe").bounding_box()
    assert box is not None
    assert box["width"] == 390
    assert box["y"] + box["height"] <= 780
    scrolls = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert frame.locator("body").evaluate(f"() => {scrolls}") is False
    buyer.page.wait_for_function("document.activeElement.tagName === 'IFRAME'")
    buyer.page.keyboard.press("Escape")
    buyer.is_told("cancelled")
    expect(buyer.page.get_by_role("button", name=buyer.words["pay"], exact=True)).to_be_enabled()
    # Opened again, now with the focus outside the frame: Escape is the dialog's own.
    buyer.open()
    buyer.page.get_by_role("button", name=buyer.words["close"]).focus()
    buyer.page.keyboard.press("Escape")
    buyer.is_told("cancelled")


@pytest.mark.parametrize("leaving", ["abandon", "cross"])
def test_who_leaves_is_told_so_and_pays_later_under_the_same_reference(
    buyer: Buyer, sandbox: Sandbox, leaving: str
) -> None:
    reference = buyer.order()
    frame = buyer.open()
    if leaving == "cross":
        buyer.page.get_by_role("button", name=buyer.words["close"]).click()
    else:
        buyer.press(leaving, frame)
    buyer.is_told("cancelled")
    assert not Licence.objects.exists()
    buyer.page.reload()
    buyer.page.get_by_label(buyer.words["email"]).fill("payer@example.test")
    buyer.press("pay")
    buyer.sees("paid")
    assert Licence.objects.get().fulfilment.transaction.reference == reference
    assert len(sandbox.state.transactions()) == 1


def test_who_is_declined_tries_again_in_the_popup(buyer: Buyer) -> None:
    buyer.order()
    frame = buyer.open()
    buyer.press("decline", frame)
    expect(frame.get_by_role("heading", level=1)).to_have_text(buyer.words["failed"])
    frame.locator("a.primary").click()
    buyer.press("pay", frame)
    buyer.sees("paid")
    assert Licence.objects.count() == 1


def test_who_is_declined_and_gives_up_has_nothing(buyer: Buyer) -> None:
    buyer.order()
    frame = buyer.open()
    buyer.press("decline", frame)
    expect(frame.get_by_role("heading", level=1)).to_have_text(buyer.words["failed"])
    buyer.page.get_by_role("button", name=buyer.words["close"]).click()
    buyer.is_told("cancelled")
    assert not Fulfilment.objects.exists()


def test_a_price_that_the_browser_changed_is_held(buyer: Buyer, sandbox: Sandbox) -> None:
    reference = buyer.order()
    buyer.page.locator("input[name=amount]").evaluate("(input) => { input.value = '1' }")
    frame = buyer.open()
    expect(frame.get_by_text("0.01\u00a0ILS")).to_be_visible()
    buyer.press("pay", frame)
    buyer.sees("checking")
    fulfilment = Fulfilment.objects.get()
    assert fulfilment.transaction.reference == reference
    assert (fulfilment.state, fulfilment.reason) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    assert not Licence.objects.exists()


def test_who_pays_and_closes_the_tab_is_served_by_the_sweep(buyer: Buyer, sandbox: Sandbox) -> None:
    """No callback, no confirm, no webhook: the order's expected payment is enough."""
    reference = buyer.order()
    frame = buyer.open()
    buyer.press("close", frame)
    expect(frame.get_by_text(buyer.words["leave"])).to_be_visible()
    buyer.page.close()
    assert sandbox.verify_calls() == 0
    call_command("payments_pages_sweep")
    assert not Licence.objects.exists()
    let_time_pass(150)
    call_command("payments_pages_sweep")
    assert Licence.objects.get().fulfilment.transaction.reference == reference


def test_who_paid_and_then_closes_the_popup_is_not_told_otherwise(buyer: Buyer) -> None:
    buyer.order()
    frame = buyer.open()
    buyer.press("close", frame)
    expect(frame.get_by_text(buyer.words["leave"])).to_be_visible()
    buyer.page.get_by_role("button", name=buyer.words["close"]).click()
    buyer.sees("paid")


def test_only_the_service_is_believed_by_the_popup(buyer: Buyer) -> None:
    reference = buyer.order()
    buyer.open()
    told = {"type": "sandbox-checkout", "reference": reference, "status": "success", "ends": True}
    buyer.page.evaluate("(told) => window.postMessage(told, '*')", told)
    buyer.page.evaluate(
        """(told) => {
            const other = document.createElement("iframe");
            document.body.append(other);
            other.contentWindow.parent.postMessage(told, "*");
        }""",
        told,
    )
    buyer.page.wait_for_timeout(300)
    expect(buyer.page.get_by_role("dialog")).to_be_visible()
    assert buyer.page.url.startswith(f"{buyer.shop}/orders/")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_order_and_in_the_popup(
    buyer: Buyer, scheme: Literal["light", "dark"]
) -> None:
    buyer.page.emulate_media(color_scheme=scheme)
    buyer.order()
    assert Axe().run(buyer.page).response["violations"] == []
    buyer.open()
    assert Axe().run(buyer.page).response["violations"] == []
    frame = buyer.page.frames[-1]
    buyer.page.goto(frame.url)
    assert Axe().run(buyer.page).response["violations"] == []


def test_a_service_that_is_down_for_a_moment_is_asked_again(buyer: Buyer, sandbox: Sandbox) -> None:
    buyer.order()
    sandbox.faults.add(operation="verify", kind="status", status=503, times=2)
    buyer.press("pay")
    expect(buyer.page.get_by_role("status")).not_to_be_empty()
    expect(buyer.page.get_by_role("heading", level=1)).to_have_text(
        buyer.words["paid"], timeout=40_000
    )


def test_an_order_that_was_begun_elsewhere_can_be_begun_again(
    buyer: Buyer, sandbox: Sandbox
) -> None:
    reference = buyer.order()
    sandbox.start_checkout(reference, amount=5000)
    buyer.page.get_by_role("button", name=buyer.words["pay"], exact=True).click()
    buyer.page.locator("[data-popup-anew] button").click()
    buyer.page.get_by_label(buyer.words["email"]).fill("payer@example.test")
    buyer.press("pay")
    buyer.sees("paid")
    assert Order.objects.count() == 2
    assert Licence.objects.count() == 1


def test_who_presses_before_the_scripts_have_come_is_led_through_the_service(
    buyer: Buyer,
) -> None:
    """On a slow line the form is there first."""
    late: list[Route] = []

    def keep(route: Route) -> None:
        late.append(route)

    buyer.page.route("**/inline.js", keep)
    buyer.page.goto(buyer.shop)
    buyer.page.get_by_role("button", name=buyer.words["buy"]).click()
    buyer.page.get_by_label(buyer.words["email"]).fill("payer@example.test")
    buyer.page.get_by_role("button", name=buyer.words["pay"], exact=True).click()
    buyer.page.locator("button[value=pay]").click()
    buyer.sees("paid")
    assert late
    assert Licence.objects.get().fulfilment.transaction.reference == (
        Order.objects.get().expected.reference
    )


def test_without_scripts_the_form_leads_through_the_service(buyer: Buyer, browser: Browser) -> None:
    with browser.new_context(java_script_enabled=False, locale="en") as context:
        page = context.new_page()
        page.goto(buyer.shop)
        page.get_by_role("button", name="Buy: Gift card").click()
        page.get_by_label("E-mail").fill("payer@example.test")
        page.get_by_role("button", name="Pay", exact=True).click()
        page.get_by_role("button", name="Pay", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Payment received")
    assert Licence.objects.count() == 1
