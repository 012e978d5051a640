"""The shipped popup script on merchants' own pages: buttons, other services' names, bad moments."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.templatetags.static import static
from django.urls import include, path
from playwright.sync_api import Browser, FrameLocator, Page, Route, expect

from example_project.shop.popup import content_policy
from payments_pages.models import ExpectedPayment, Fulfilment
from payments_pages.sandbox import Sandbox
from tests.acceptance.example.conftest import popup_settings
from tests.support.goods.models import Good

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]

EVENTS = ["opening", "checking", "closed", "paid", "processing", "cancelled", "unpaid",
          "unconfirmed", "elsewhere", "failed"]  # fmt: skip
LISTEN = f"""
window.told = [];
for (const name of {EVENTS}) {{
  document.addEventListener("payment:" + name, (event) => {{
    window.told.push([name, event.target.id, event.detail]);
    if (window.stays) event.preventDefault();
  }});
}}
"""
OTHER_SERVICES = """
class NewPop {
  newTransaction(options) {
    if (!(this instanceof NewPop)) throw new Error("made without new");
    return SandboxPop.open(options);
  }
}
window.Other = { NewPop };
window.OldPop = {
  setup: (asked) => ({
    openIframe: () => SandboxPop.open({
      key: asked.key, reference: asked.ref, amount: asked.amount, currency: asked.currency,
      email: asked.email, onSuccess: asked.callback, onCancel: asked.onClose,
    }),
  }),
};
window.TwicePop = {
  open: (asked) => SandboxPop.open({ ...asked, onSuccess: (told) => {
    asked.onClose(); asked.onCancel(told); asked.onSuccess(told); asked.onClose();
  } }),
};
window.DumbPop = { open: () => { window.opened = (window.opened ?? 0) + 1; } };
window.BrokenPop = { open: () => { throw new Error("no window"); } };
window.RejectingPop = { open: () => Promise.reject(new Error("no window")) };
"""
SANDBOX = 'data-sdk="SandboxPop" data-sdk-method="open"'
OLD = (
    'data-sdk="OldPop" data-sdk-method="setup" data-sdk-then="openIframe" '
    'data-option-reference="ref" data-option-success="callback" data-option-cancel=""'
)
PAGE: dict[str, str] = {}
"""What the merchant's page has, set by each test."""


def merchants_page(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(
        f'<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">'
        f"<title>Shop</title><main>{PAGE['body']}</main>"
        f'<script src="{PAGE["inline"]}"></script><script src="/others.js"></script>{PAGE["script"]}'
    )
    popup = {"INLINE_URL": PAGE["inline"], "START_URL": PAGE["inline"]}
    response.headers["Content-Security-Policy"] = content_policy(popup)
    return response


def others(request: HttpRequest) -> HttpResponse:
    return HttpResponse(OTHER_SERVICES, content_type="text/javascript")


urlpatterns = [
    path("", include("example_project.urls")),
    path("pay-here/", merchants_page),
    path("others.js", others),
]


class Visitor:
    """Somebody with a phone on a merchant's page."""

    def __init__(self, page: Page, site: str, sandbox: Sandbox) -> None:
        self.page, self.site, self.sandbox = page, site, sandbox

    def visit(self, *references: str, sdk: str = SANDBOX, body: str = "", times: int = 1) -> None:
        PAGE["inline"] = self.sandbox.inline_url
        PAGE["body"] = body or "".join(
            f'<div><button id="b{number}" type="button" data-popup data-reference="{reference}" '
            f'data-amount="5000" data-currency="ILS" data-email="payer@example.test">'
            f"Pay {number}</button></div>"
            for number, reference in enumerate(references, start=1)
        )
        PAGE["script"] = times * (
            f'<script src="{static("payments_pages/popup.js")}" defer {sdk} '
            f'data-confirm-url="/payments/confirm/" data-key="{self.sandbox.public_key}"></script>'
        )
        self.page.goto(f"{self.site}/pay-here/")

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator("dialog iframe")

    def click(self, button: str = "Pay 1") -> None:
        self.page.get_by_role("button", name=button).click()

    def choose(self, choice: str) -> None:
        self.frame.get_by_role("button", name=choice, exact=True).click()

    def is_told(self, words: str, within: float = 30_000) -> None:
        status = self.page.get_by_role("status").filter(has_text=words)
        expect(status).to_have_count(1, timeout=within)

    def has_paid(self) -> None:
        heading = self.page.get_by_role("heading", name="Payment received")
        expect(heading).to_be_visible(timeout=40_000)

    @property
    def events(self) -> list[str]:
        return [name for name, _element, _detail in self.page.evaluate("window.told")]


@pytest.fixture
def visitor(
    browser: Browser, shop: str, sandbox: Sandbox, settings: Any, configure: Any
) -> Iterator[Visitor]:
    settings.ROOT_URLCONF = __name__
    settings.POPUP = popup_settings(sandbox)
    configure(HANDLER="tests.support.goods.handlers.deliver")
    phone = {"width": 390, "height": 780}
    with browser.new_context(
        viewport=phone,  # type: ignore[arg-type]
        locale="en",
        has_touch=True,
        is_mobile=True,
    ) as context:
        context.set_default_timeout(15_000)
        page = context.new_page()
        page.add_init_script(LISTEN)
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "console",
            lambda line: (
                troubles.append(line.text) if "Content Security Policy" in line.text else None
            ),
        )
        yield Visitor(page, shop, sandbox)
        assert troubles == []


@pytest.fixture
def reference() -> str:
    return ExpectedPayment.objects.expect(amount=5000, currency="ILS").reference


# Other services


@pytest.mark.parametrize(
    "sdk",
    [
        SANDBOX,
        'data-sdk="Other.NewPop" data-sdk-new data-sdk-method="newTransaction"',
        OLD,
        'data-sdk="TwicePop" data-sdk-method="open"',
    ],
    ids=["sandbox", "a class", "two calls and other names", "every callback, in a bad order"],
)
def test_a_button_pays_with_a_service_that_is_named_by_attributes(
    visitor: Visitor, reference: str, sdk: str
) -> None:
    visitor.visit(reference, sdk=sdk)
    visitor.click()
    visitor.choose("Pay")
    visitor.has_paid()
    assert Good.objects.count() == 1
    assert Fulfilment.objects.get().transaction.reference == reference


def test_the_merchants_own_script_may_take_over(visitor: Visitor, reference: str) -> None:
    visitor.visit(reference)
    visitor.page.evaluate(
        "document.addEventListener('payment:paid', (event) => event.preventDefault())"
    )
    visitor.click()
    visitor.choose("Pay")
    visitor.is_told("Paid.")
    assert visitor.page.url.endswith("/pay-here/")
    assert visitor.events == ["opening", "checking", "paid"]
    detail = visitor.page.evaluate("window.told.at(-1)[2]")
    assert (detail["reference"], detail["status"]) == (reference, 200)
    assert detail["outcome"] == "delivered"
    assert "/payments/result/" in detail["resultUrl"]
    assert visitor.page.locator("#b1").get_attribute("data-popup-state") == "paid"


def test_the_merchants_own_script_may_forbid_the_popup(visitor: Visitor, reference: str) -> None:
    visitor.visit(reference)
    visitor.page.evaluate("window.stays = true")
    visitor.click()
    visitor.page.wait_for_timeout(300)
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)
    visitor.page.evaluate("window.stays = false")
    visitor.click()
    expect(visitor.page.get_by_role("dialog")).to_be_visible()


# Clicks


def test_a_double_click_opens_one_popup_and_asks_once(
    visitor: Visitor, reference: str, sandbox: Sandbox
) -> None:
    visitor.visit(reference)
    visitor.page.locator("#b1").dblclick()
    expect(visitor.page.get_by_role("dialog")).to_have_count(1)
    visitor.choose("Pay")
    visitor.has_paid()
    assert (Good.objects.count(), sandbox.verify_calls(reference)) == (1, 1)


def test_a_click_while_the_server_is_asked_opens_nothing(
    visitor: Visitor, reference: str, sandbox: Sandbox
) -> None:
    visitor.visit(reference)
    sandbox.faults.add(operation="verify", kind="latency", seconds=1.0)
    visitor.click()
    visitor.choose("Pay")
    visitor.is_told("Checking")
    expect(visitor.page.locator("#b1")).to_have_attribute("aria-disabled", "true")
    visitor.page.locator("#b1").evaluate("(button) => button.click()")
    visitor.has_paid()
    assert Good.objects.count() == 1


def test_the_script_loaded_twice_works_once(
    visitor: Visitor, reference: str, sandbox: Sandbox
) -> None:
    visitor.visit(reference, times=2)
    visitor.click()
    expect(visitor.page.get_by_role("dialog")).to_have_count(1)
    visitor.choose("Abandon")
    visitor.is_told("You have not paid yet.")
    assert visitor.events == ["opening", "closed", "checking", "cancelled"]
    assert sandbox.verify_calls(reference) == 1
    expect(visitor.page.get_by_role("status")).to_have_count(1)


def test_two_buttons_on_one_page_are_two_payments(visitor: Visitor, reference: str) -> None:
    other = ExpectedPayment.objects.expect(amount=5000, currency="ILS").reference
    visitor.visit(reference, other)
    visitor.click("Pay 1")
    visitor.choose("Abandon")
    first, second = visitor.page.get_by_role("status").all()
    expect(first).to_contain_text("You have not paid yet.")
    expect(second).to_be_empty()
    visitor.click("Pay 2")
    visitor.choose("Pay")
    visitor.has_paid()
    assert Fulfilment.objects.get().transaction.reference == other


def test_a_card_without_a_line_does_not_speak_on_another_cards(
    visitor: Visitor, reference: str
) -> None:
    visitor.visit(
        body=f"""
        <div><button data-popup data-reference="{reference}" data-amount="5000">Pay 1</button>
             <p data-popup-status></p></div>
        <div><button data-popup data-reference="">Pay 2</button></div>"""
    )
    visitor.click("Pay 2")
    first, second = visitor.page.get_by_role("status").all()
    expect(second).to_contain_text("did not open")
    expect(first).to_be_empty()
    assert first.get_attribute("data-popup-status") == ""


def test_a_service_that_says_nothing_does_not_lock_the_page(
    visitor: Visitor, reference: str
) -> None:
    visitor.visit(reference, sdk='data-sdk="DumbPop" data-sdk-method="open"')
    visitor.click()
    expect(visitor.page.locator("#b1")).to_have_attribute("aria-disabled", "true")
    visitor.page.locator("#b1").evaluate("(button) => button.click()")
    assert visitor.page.evaluate("window.opened") == 1
    expect(visitor.page.locator("#b1")).not_to_have_attribute("aria-disabled", "true")
    visitor.click()
    assert visitor.page.evaluate("window.opened") == 2


def test_a_button_added_later_works(visitor: Visitor, reference: str) -> None:
    visitor.visit(body='<div id="place"></div>')
    visitor.page.evaluate(
        """(reference) => {
            const button = document.createElement("button");
            Object.assign(button.dataset,
                { popup: "", reference, amount: "5000", currency: "ILS", email: "a@example.test" });
            button.textContent = "Pay later";
            document.getElementById("place").append(button);
        }""",
        reference,
    )
    visitor.click("Pay later")
    visitor.choose("Pay")
    visitor.has_paid()


# What confirm answers


def test_402_after_a_close_lets_the_payer_try_again(visitor: Visitor, reference: str) -> None:
    visitor.visit(reference)
    visitor.click()
    visitor.choose("Abandon")
    visitor.is_told("You have not paid yet.")
    expect(visitor.page.locator("#b1")).not_to_have_attribute("aria-disabled", "true")
    visitor.click()
    visitor.choose("Pay")
    visitor.has_paid()


def test_404_after_a_close_is_no_payment_so_far(
    visitor: Visitor, reference: str, sandbox: Sandbox
) -> None:
    visitor.visit(reference)
    sandbox.faults.add(operation="verify", kind="status", status=404)
    visitor.click()
    visitor.choose("Abandon")
    visitor.is_told("You have not paid yet.", within=4_000)


def test_404_after_a_payment_is_asked_again(
    visitor: Visitor, reference: str, sandbox: Sandbox
) -> None:
    visitor.visit(reference)
    sandbox.faults.add(operation="verify", kind="status", status=404, times=1)
    visitor.click()
    visitor.choose("Pay")
    visitor.has_paid()


def test_503_is_asked_again_also_after_a_close(
    visitor: Visitor, reference: str, sandbox: Sandbox
) -> None:
    """The payer pays, and closes the window before the service's own page can say so."""
    visitor.visit(reference)
    sandbox.faults.add(operation="verify", kind="status", status=503, times=2)
    visitor.click()
    visitor.choose("Pay and close the tab")
    expect(visitor.frame.get_by_text("You may close this tab")).to_be_visible()
    visitor.page.get_by_role("button", name="Close").click()
    visitor.has_paid()


def cut_off(route: Route) -> None:
    route.abort()


def proxys_page(route: Route) -> None:
    route.fulfill(status=200, content_type="text/html", body="<h1>Sign in to the hotel</h1>")


def too_many(route: Route) -> None:
    route.fulfill(status=429, headers={"Retry-After": "1"}, body="slow down")


def without_a_time(route: Route) -> None:
    route.fulfill(
        status=503,
        headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"},  # long ago
        json={"outcome": "unavailable"},
    )


@pytest.mark.parametrize("trouble", [cut_off, proxys_page, too_many, without_a_time])
def test_a_network_that_fails_for_a_moment_loses_nothing(
    visitor: Visitor, reference: str, trouble: Callable[[Route], None]
) -> None:
    visitor.visit(reference)
    visitor.page.route("**/payments/confirm/", trouble, times=2)
    visitor.click()
    visitor.choose("Pay")
    visitor.has_paid()
    assert Good.objects.count() == 1


def test_what_nobody_confirmed_is_said_so_and_the_next_click_asks_instead_of_selling_again(
    visitor: Visitor, reference: str
) -> None:
    visitor.visit(reference)
    visitor.page.route(
        "**/payments/confirm/",
        lambda route: route.fulfill(status=400, json={"outcome": "invalid"}),
        times=1,
    )
    visitor.click()
    visitor.choose("Pay")
    visitor.is_told("If you have paid, do not pay again.")
    assert visitor.events == ["opening", "checking", "unconfirmed"]
    visitor.click()
    visitor.has_paid()
    assert Good.objects.count() == 1


def test_only_the_reference_is_sent_and_that_the_popup_says_paid(
    visitor: Visitor, reference: str
) -> None:
    visitor.visit(reference)
    visitor.click()
    with visitor.page.expect_request("**/payments/confirm/") as asked:
        visitor.choose("Abandon")
    assert asked.value.post_data_json == {"reference": reference}
    visitor.click()
    with visitor.page.expect_request("**/payments/confirm/") as asked:
        visitor.choose("Pay")
    assert asked.value.post_data_json == {"reference": reference, "paid": True}
    assert "cookie" not in asked.value.headers


# The popup that does not open


@pytest.mark.parametrize("name", ["BrokenPop", "RejectingPop", "Nowhere.AtAll"])
def test_a_popup_that_does_not_open_is_told(visitor: Visitor, reference: str, name: str) -> None:
    visitor.visit(reference, sdk=f'data-sdk="{name}" data-sdk-method="open"')
    visitor.click()
    visitor.is_told("The payment window did not open.")
    assert visitor.events[-1] == "failed"
    expect(visitor.page.locator("#b1")).not_to_have_attribute("aria-disabled", "true")


def test_a_payment_made_in_another_window_is_found_when_the_popup_is_refused(
    visitor: Visitor, reference: str, sandbox: Sandbox
) -> None:
    sandbox.start_checkout(reference, amount=5000)
    sandbox.end_checkout(reference)
    visitor.visit(reference)
    visitor.click()
    visitor.has_paid()


def test_without_a_reference_nothing_is_opened(visitor: Visitor) -> None:
    visitor.visit("")
    visitor.click()
    visitor.is_told("The payment window did not open.")
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)


def test_other_peoples_html_on_the_page_cannot_choose_what_is_called(
    visitor: Visitor, reference: str
) -> None:
    visitor.visit(
        body=f'<a href="#x" data-popup data-reference="{reference}" data-sdk="DumbPop" '
        f'data-sdk-method="open" data-confirm-url="https://evil.example/">Pay</a>'
    )
    visitor.page.get_by_role("link", name="Pay").click()
    expect(visitor.page.get_by_role("status")).not_to_be_empty()
    assert visitor.page.evaluate("window.opened") is None
