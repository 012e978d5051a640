"""Staff work with pages in a real browser: with scripts, without them, and by axe's rules."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect

from payments_pages.models import PaymentPage
from payments_pages.pages import create_page, sync_pages
from payments_pages.sandbox import Sandbox
from tests.acceptance.browser.axe import findings, in_all_variants
from tests.acceptance.browser.baseline import allowed
from tests.acceptance.browser.staff import choose_action, sign_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
]

PAGES = "/admin/payments_pages/paymentpage/"


@pytest.fixture
def tea(shop: str, sandbox: Sandbox) -> PaymentPage:
    return create_page(name="Tea box", amount=10000, slug="tea-box", description="12 bags")


@pytest.fixture
def admin(shop: str, context: BrowserContext) -> Page:
    page = context.new_page()
    sign_in(page, shop)
    return page


@pytest.fixture
def plain(browser: Browser, shop: str) -> Iterator[Page]:
    """A browser without scripts."""
    with browser.new_context(java_script_enabled=False, locale="en") as scriptless:
        scriptless.set_default_timeout(20_000)
        page = scriptless.new_page()
        sign_in(page, shop)
        yield page


def test_a_button_copies_the_address_and_says_so(
    tea: PaymentPage,
    admin: Page,
    shop: str,
    sandbox: Sandbox,
) -> None:
    admin.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for path in (PAGES, f"{PAGES}{tea.pk}/change/"):
        admin.goto(shop + path)
        admin.get_by_role("button", name="Copy Tea box").click()
        expect(admin.locator("body > [role=status]")).to_have_text("Copied")
        copied = admin.evaluate("navigator.clipboard.readText()")
        assert copied == f"{sandbox.pay_url}/tea-box"


def test_without_a_clipboard_the_address_is_selected_to_be_copied_by_hand(
    tea: PaymentPage,
    admin: Page,
    shop: str,
    sandbox: Sandbox,
) -> None:
    admin.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    admin.goto(shop + PAGES)
    admin.get_by_role("button", name="Copy Tea box").click()
    box = admin.get_by_label("Select the address and copy it")
    expect(box).to_be_focused()
    assert admin.evaluate("document.getSelection().toString()") == f"{sandbox.pay_url}/tea-box"


def test_a_slug_is_asked_about_while_it_is_typed(
    tea: PaymentPage,
    admin: Page,
    shop: str,
    sandbox: Sandbox,
) -> None:
    sandbox.add_page(slug="theirs", amount=1)
    before = len(sandbox.requests)
    admin.goto(f"{shop}{PAGES}add/")
    status = admin.locator(".pp-slug-status")
    slug = admin.get_by_label("Slug")
    slug.fill("")
    slug.press_sequentially("green-tea", delay=20)
    expect(admin.locator(".pp-slug-address")).to_contain_text("/green-tea")
    expect(status).to_have_text("This slug is free.")
    assert len(sandbox.requests) - before <= 2, "not for every letter"
    for typed, said in (
        ("theirs", "This slug is taken. Choose another one."),
        ("tea-box", "You already have a page with this slug."),
        ("شاي", "Use up to 100 Latin letters"),
    ):
        slug.fill(typed)
        expect(status).to_contain_text(said)
    sandbox.faults.add(operation="check_slug", kind="status", status=503)
    slug.fill("black-tea")
    expect(status).to_contain_text("cannot be checked right now")
    slug.fill("")
    expect(status).to_be_empty()
    expect(admin.locator(".pp-slug-shown")).to_have_text("…")


def test_d17_a_slug_is_made_of_a_latin_name_until_one_is_typed(
    tea: PaymentPage,
    admin: Page,
    shop: str,
    sandbox: Sandbox,
) -> None:
    admin.goto(f"{shop}{PAGES}add/")
    slug, name = admin.get_by_label("Slug"), admin.locator("#id_name")
    suggested = slug.input_value()
    assert suggested
    name.fill("Crème brûlée, 2 × 100g")
    expect(slug).to_have_value("creme-brulee-2-100g")
    expect(admin.locator(".pp-slug-address")).to_contain_text("/creme-brulee-2-100g")
    for other in ("شاي بالنعناع", "תה", "2026", "Tea شاي", ""):
        name.fill(other)
        expect(slug).to_have_value(suggested)
    name.fill("Tea box")
    expect(slug).to_have_value(suggested)  # tea-box is taken
    slug.fill("mine")
    name.fill("Green tea")
    expect(slug).to_have_value("mine")


def test_what_was_wrong_is_said_until_something_else_is_typed(
    tea: PaymentPage,
    admin: Page,
    shop: str,
    sandbox: Sandbox,
) -> None:
    admin.goto(f"{shop}{PAGES}add/")
    admin.locator("#id_amount").fill("12,50")
    admin.get_by_label("Logo image address").fill("http://shop.example/l.png")
    admin.get_by_label("Slug").fill("tea-box")
    admin.locator("#id_name").fill("Soap")
    admin.get_by_role("button", name="Save", exact=True).click()
    expect(admin.locator("#id_amount")).to_be_focused()
    admin.locator("#id_amount").fill("12.50")
    expect(admin.locator(".field-amount .errorlist")).to_have_count(0)
    expect(admin.locator(".errornote")).to_have_count(1)
    admin.get_by_label("Logo image address").fill("")
    expect(admin.locator(".errorlist, .errornote, [aria-invalid]")).to_have_count(0)
    admin.get_by_role("button", name="Save", exact=True).click()
    slug = admin.get_by_label("Slug")
    expect(slug).to_be_focused()
    expect(admin.locator(".field-slug .errorlist")).to_have_text(
        "You already have a page with this slug."
    )
    slug.fill("soap")
    expect(admin.locator(".pp-slug-status")).to_have_text("This slug is free.")
    expect(admin.locator(".field-slug .errorlist")).to_have_count(0)


def test_the_focus_is_on_the_first_field_in_error_without_scripts_too(
    tea: PaymentPage,
    plain: Page,
    shop: str,
) -> None:
    plain.goto(f"{shop}{PAGES}add/")
    plain.locator("#id_name").fill("Soap")
    plain.get_by_label("Slug").fill("tea-box")
    plain.get_by_role("button", name="Save", exact=True).click()
    expect(plain.get_by_label("Slug")).to_be_focused()


def test_a_price_far_above_all_others_is_saved_by_a_second_press_without_scripts(
    tea: PaymentPage,
    plain: Page,
    shop: str,
) -> None:
    plain.goto(f"{shop}{PAGES}add/")
    plain.locator("#id_name").fill("Soap")
    plain.locator("#id_amount").fill("99999999999")
    plain.get_by_role("button", name="Save", exact=True).click()
    expect(plain.locator(".field-amount .errorlist")).to_contain_text("Really 99,999,999,999.00")
    plain.get_by_role("button", name="Save", exact=True).click()
    expect(plain.locator(".messagelist")).to_contain_text("Payers pay 99,999,999,999.00\u00a0ILS")


def test_after_saving_the_address_is_copied_from_the_message(
    admin: Page, shop: str, sandbox: Sandbox
) -> None:
    admin.context.grant_permissions(["clipboard-read", "clipboard-write"])
    admin.goto(f"{shop}{PAGES}add/")
    admin.locator("#id_name").fill("Green tea")
    admin.locator("#id_amount").fill("12.5")
    admin.get_by_role("button", name="Save", exact=True).click()
    message = admin.locator(".messagelist")
    expect(message).to_contain_text("Payers pay 12.50\u00a0ILS at")
    message.get_by_role("button", name="Copy Green tea").click()
    expect(admin.locator("body > [role=status]")).to_have_text("Copied")
    copied = admin.evaluate("navigator.clipboard.readText()")
    assert copied == f"{sandbox.pay_url}/green-tea"


def test_a_new_page_like_another_one_is_made_by_two_presses(
    tea: PaymentPage, admin: Page, shop: str
) -> None:
    admin.goto(f"{shop}{PAGES}{tea.pk}/change/")
    admin.get_by_role("link", name="New page like this one").click()
    expect(admin.locator("#id_name")).to_have_value("Tea box")
    expect(admin.get_by_label("Slug")).to_have_value("tea-box-2")
    expect(admin.locator(".pp-notice").first).to_contain_text("Nothing is made until you save.")
    admin.get_by_role("button", name="Save", exact=True).click()
    expect(admin.locator(".messagelist .success")).to_be_visible()
    copy = PaymentPage.objects.get(slug="tea-box-2")
    assert (copy.name, copy.amount, copy.description) == ("Tea box", 10000, "12 bags")


def test_a_logo_is_shown_when_its_address_is_typed(admin: Page, shop: str) -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"/>'
    asked: list[Request] = []

    def answer(route: Route) -> None:
        asked.append(route.request)
        if route.request.url.endswith("missing.svg"):
            route.fulfill(status=404)
        else:
            route.fulfill(body=picture, content_type="image/svg+xml")

    admin.route("https://logos.example/**", answer)
    admin.goto(f"{shop}{PAGES}add/")
    box, image = admin.get_by_label("Logo image address"), admin.locator("img.pp-logo")
    expect(image).to_be_hidden()
    box.fill("https://logos.example/logo.svg")
    box.blur()
    expect(image).to_be_visible()
    assert "referer" not in asked[0].headers
    box.fill("https://logos.example/missing.svg")
    box.blur()
    expect(image).to_be_hidden()
    expect(admin.locator(".pp-logo-status")).to_contain_text("There is no image at this address")
    box.fill("http://logos.example/logo.svg")
    box.blur()
    expect(admin.locator(".pp-logo-status")).to_be_empty()
    assert len(asked) == 2, "only what payers would see is loaded"


def test_questions_are_added_one_by_one(
    tea: PaymentPage,
    admin: Page,
    shop: str,
    sandbox: Sandbox,
) -> None:
    admin.goto(f"{shop}{PAGES}add/")
    rows = admin.locator(".pp-questions tbody tr:visible")
    expect(rows).to_have_count(1)
    admin.get_by_label("Name", exact=False).first.fill("Green tea")
    admin.get_by_label("Question 1", exact=True).fill("Phone number")
    for number in range(2, 21):
        admin.get_by_role("button", name="Add a question").click()
        expect(admin.get_by_label(f"Question {number}", exact=True)).to_be_focused()
    expect(admin.get_by_role("button", name="Add a question")).to_be_hidden()
    admin.get_by_label("Question 7", exact=True).fill("Size")
    admin.get_by_role("button", name="Save", exact=True).click()
    expect(admin.locator(".messagelist .success")).to_be_visible()
    made = PaymentPage.objects.get(name="Green tea")
    assert [field["display_name"] for field in made.custom_fields] == ["Phone number", "Size"]


def test_a_sync_of_many_pages_shows_how_far_it_is(
    shop: str,
    admin: Page,
    sandbox: Sandbox,
) -> None:
    for number in range(1_500):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=number + 1)
    admin.goto(shop + PAGES)
    admin.add_init_script("""
        window.seen = [];
        addEventListener("DOMContentLoaded", () => {
            const text = document.getElementById("pp-sync-text");
            const note = () => {
                sessionStorage.seen = (sessionStorage.seen || "") + text.textContent + "|"
                    + document.querySelector("progress").value + ";";
            };
            if (text) { note(); new MutationObserver(note).observe(text, {childList: true}); }
        });
    """)
    admin.get_by_role("button", name="Sync with the service").click()
    expect(admin.locator(".messagelist .success")).to_contain_text(
        "Synced: 1500 added", timeout=180_000
    )
    assert PaymentPage.objects.count() == 1_500
    seen = admin.evaluate("sessionStorage.seen")
    assert "100 of 1500 pages|100;" in seen
    assert "1500 of 1500 pages|" in seen or "1400 of 1500 pages|" in seen


def test_a_sync_that_breaks_off_waits_for_a_person(
    shop: str,
    admin: Page,
    sandbox: Sandbox,
) -> None:
    for number in range(250):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=number + 1)
    sandbox.faults.add(operation="list", kind="status", status=500, skip=3)
    known = allowed(admin, shop)  # now, because it may open other pages
    admin.goto(shop + PAGES)
    admin.get_by_role("button", name="Sync with the service").click()
    expect(admin.locator("#pp-sync-error")).to_contain_text("The listing broke off")
    expect(admin.locator("#pp-sync-text")).to_have_text("150 of 250 pages")
    assert findings(admin) <= known
    sandbox.faults.clear()
    admin.go_back()
    admin.get_by_role("button", name="Sync with the service").click()
    expect(admin.locator(".messagelist .success")).to_contain_text("100 added, 0 changed, 150")


def test_all_of_it_works_without_scripts(
    tea: PaymentPage,
    plain: Page,
    shop: str,
    sandbox: Sandbox,
) -> None:
    for number in range(130):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=number + 1)
    plain.goto(shop + PAGES)
    expect(plain.get_by_role("button", name="Copy")).to_have_count(0)
    plain.get_by_role("button", name="Sync with the service").click()
    expect(plain.locator("#pp-sync-text")).to_have_text("100 of 131 pages")
    plain.get_by_role("button", name="Continue").click()
    expect(plain.locator(".messagelist .success")).to_contain_text("130 added")
    plain.goto(f"{shop}{PAGES}add/")
    expect(plain.locator(".pp-questions tbody tr")).to_have_count(5)
    expect(plain.get_by_role("button", name="Add a question")).to_have_count(0)
    plain.locator("#id_name").fill("Green tea")
    plain.locator("#id_slug").fill("green-tea")
    plain.get_by_label("Question 5", exact=True).fill("Size")
    plain.get_by_role("button", name="Save", exact=True).click()
    expect(plain.locator(".messagelist .success")).to_be_visible()
    made = PaymentPage.objects.get(slug="green-tea")
    assert made.custom_fields[0]["display_name"] == "Size"


@pytest.mark.parametrize("language", ["en", "ar"])
def test_axe_finds_nothing_and_nothing_sticks_out(
    tea: PaymentPage,
    shop: str,
    browser: Browser,
    sandbox: Sandbox,
    language: str,
) -> None:
    """On what no demo's screen shows: drift, both versions, refusals, bulk questions and rows."""
    create_page(name="شاي بالنعناع", amount=10000, slug="mint", custom_fields=[
        {"display_name": "رقم الهاتف", "variable_name": "phone"}
    ])  # fmt: skip
    page = browser.new_page(locale=language)
    page.set_default_timeout(20_000)
    sign_in(page, shop)
    known = allowed(page, shop)
    beyond: dict[str, list[str]] = {}

    def look(name: str) -> None:
        for variant, found in in_all_variants(page, language):
            wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            if page.evaluate(wide):
                found.add("sticks out sideways")
            for finding in found - known:
                beyond.setdefault(finding, []).append(f"{name} {variant}")
        page.set_viewport_size({"width": 1280, "height": 900})

    change = f"{shop}{PAGES}{tea.pk}/change/"
    page.goto(change)
    sandbox.set_page("tea-box", amount=1, name="Cheap tea", redirect_url="https://x.example/")
    page.locator("#id_description").fill("24 bags")
    page.locator("input[name=_save]").click()
    expect(page.locator("#pp-versions")).to_be_visible()
    look("both versions")
    page.goto(change)
    expect(page.locator("#pp-drift")).to_be_visible()
    look("drift")
    page.goto(shop + PAGES)
    look("list")
    page.goto(f"{shop}{PAGES}add/")
    page.locator("#id_slug").fill("a/b")
    page.locator("input[name=_save]").click()
    expect(page.locator(".errorlist").first).to_be_visible()
    look("refused")
    page.goto(shop + PAGES)
    page.locator("#action-toggle").check()
    choose_action(page, "deactivate_pages")
    look("question")
    sandbox.faults.add(operation="update", kind="status", status=503, times=1)
    page.locator("#content-main input[type=submit]").click()
    expect(page.locator("table.pp-table")).to_be_visible()
    look("outcomes")
    lines = [f"{finding}: {', '.join(where)}" for finding, where in sorted(beyond.items())]
    assert not lines, "\n".join(lines)


def test_a_person_decides_about_drift_by_two_buttons(
    tea: PaymentPage,
    admin: Page,
    shop: str,
    sandbox: Sandbox,
) -> None:
    sandbox.set_page("tea-box", amount=1)
    sync_pages()
    admin.goto(f"{shop}{PAGES}{tea.pk}/change/")
    admin.get_by_role("button", name="Send ours back").click()
    expect(admin.locator(".messagelist .success")).to_contain_text("Sent ours back")
    there: Any = sandbox.state.page_by_slug("tea-box")
    assert there["amount"] == 10000
    expect(admin.locator("#pp-drift")).to_have_count(0)
