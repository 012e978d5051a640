"""A member of staff's day, in Arabic: from a page that is made to the page that is taken down."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from playwright.sync_api import Browser, BrowserContext, Page, expect

from example_project.demo.history.mishaps import print_nothing
from example_project.demo.logins import reset_logins
from example_project.shop.models import Licence
from payments_pages.choices import Door, EventKind, FulfilmentState, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction
from payments_pages.pages import create_page
from payments_pages.sandbox import Sandbox
from tests.acceptance.browser.staff import choose_action, press_until, sign_in
from tests.support.headings import HEADINGS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]

TOLD = HEADINGS["ar"]


class Staff:
    """The manager, in an Arabic browser; a payer uses another tab of it."""

    def __init__(self, context: BrowserContext, shop: str) -> None:
        self.page, self.payer, self.shop = context.new_page(), context.new_page(), shop
        self.address = ""
        passwords = {name: password for name, password, _who in reset_logins()}
        sign_in(self.page, shop, "manager", passwords["manager"])

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.shop}/admin/payments_pages/{path}")
        return self.page

    def sees_payment(self, reference: str) -> Page:
        """Find it by its whole reference, as it is read out on the telephone."""
        self.open("transaction/")
        self.page.locator("#searchbar").fill(reference)
        self.page.locator("#changelist-search [type=submit]").click()
        expect(self.page.locator("#content")).to_contain_text(reference)
        self.page.wait_for_url("**/change/**")
        return self.page

    def acts(self, name: str, note: str = "") -> None:
        """Press a button on the payment's page, and confirm on the page that asks."""
        self.page.locator(f".pp-actions a[href*='/{name}/']").click()
        if note:
            self.page.locator("textarea[name=note]").fill(note)
        self.page.locator(".submit-row [type=submit]").click()
        expect(self.page.locator(".messagelist .success")).to_be_visible()

    def sells(self, told: str) -> str:
        """Let a payer pay on the hosted page and come back; return the reference."""
        before = set(Transaction.objects.values_list("reference", flat=True))
        self.payer.goto(self.address)
        self.payer.locator("button[value=pay]").click()
        expect(self.payer.get_by_role("heading", level=1)).to_have_text(told)
        (reference,) = set(Transaction.objects.values_list("reference", flat=True)) - before
        return reference


@pytest.fixture
def staff(browser: Browser, shop: str) -> Any:
    with browser.new_context(
        viewport={"width": 1280, "height": 900}, locale="ar", accept_downloads=True
    ) as context:
        context.set_default_timeout(15_000)
        yield Staff(context, shop)


def test_a_day_of_staff_in_arabic(staff: Staff, sandbox: Sandbox, configure: Any) -> None:
    # In the morning: a new page, typed as it is said.
    page = staff.open("paymentpage/add/")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    page.locator("#id_name").fill("زيت زيتون بكر")
    page.locator("#id_amount").fill("١٢٠٫٥٠")
    page.locator("#id_slug").fill("olive-oil")
    page.locator("[name=_save]").click()
    expect(page.locator(".messagelist .success")).to_be_visible()
    made = PaymentPage.objects.get()
    assert (made.name, made.amount, made.currency) == ("زيت زيتون بكر", 12050, "ILS")

    # It sells, and the sale is seen: in the list, in the day's total, with its story.
    link = staff.open("paymentpage/").locator("#result_list a[href*='/pay/olive-oil']").first
    staff.address = str(link.get_attribute("href"))
    sold = staff.sells(TOLD["paid"])
    assert Licence.objects.count() == 1
    page = staff.open("transaction/")
    expect(page.locator("#result_list")).to_contain_text("120.50\u00a0ILS")
    expect(page.locator(".pp-totals")).to_contain_text("120.50\u00a0ILS")
    expect(staff.sees_payment(sold).locator(".pp-headline")).to_contain_text("120.50\u00a0ILS")

    # Somebody pays too little: the first screen says so, and the manager decides.
    sandbox.faults.add(operation="verify", kind="patch", data={"amount": 11900})
    short = staff.sells(TOLD["checking"])
    held = Fulfilment.objects.get(transaction__reference=short)
    assert (held.state, held.reason) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    staff.open("").locator(".pp-needs li a").first.click()
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    expect(page.locator("#result_list")).to_contain_text(short)
    page.locator("#result_list tbody th a").click()
    expect(page.locator(".pp-why")).to_contain_text("1.50\u00a0ILS")
    staff.acts("approve", "خصم متفق عليه عبر الهاتف.")
    sandbox.faults.clear()
    assert Licence.objects.count() == 2
    staff.payer.reload()
    expect(staff.payer.get_by_role("heading", level=1)).to_have_text(TOLD["paid"])

    # A delivery fails, and is tried again when what it needs is back.
    configure(HANDLER=f"{print_nothing.__module__}.{print_nothing.__name__}", BACKOFF=3600)
    failed = staff.sells(TOLD["preparing"])
    assert Fulfilment.objects.get(transaction__reference=failed).state == FulfilmentState.FAILED
    configure(HANDLER="example_project.shop.handlers.deliver")
    expect(staff.sees_payment(failed).locator("#content")).to_contain_text("ticket printer")
    staff.acts("retry")
    assert Licence.objects.count() == Fulfilment.objects.count() == 3

    # For the bookkeeper: all of it, with amounts that a spreadsheet can add up.
    page = staff.open("transaction/")
    with page.expect_download() as downloading:
        page.locator("form[action*='/export/?'] button").click()
    rows = _read(Path(downloading.value.path()))
    assert {row["reference"] for row in rows} == {sold, short, failed}
    assert sorted(row["amount"] for row in rows) == ["119.00", "120.50", "120.50"]
    assert {row["customer_email"] for row in rows} == {"payer@example.test"}

    # In the evening the page goes off sale.
    page = staff.open("paymentpage/")
    page.locator("input.action-select").check()
    choose_action(page, "deactivate_pages")
    page.locator(".submit-row [type=submit]").click()
    expect(page.locator("#content")).to_contain_text("زيت زيتون بكر")
    answer = staff.payer.goto(staff.address)
    assert answer is not None
    assert answer.status == 404

    # And it is on record who did what.
    assert set(LogEntry.objects.values_list("user__username", flat=True)) == {"manager"}
    decided = Event.objects.exclude(actor="").values_list("kind", "actor")
    assert (EventKind.APPROVED, "manager") in decided
    assert (EventKind.RETRIED, "manager") in decided


def test_what_is_held_is_approved_with_the_keyboard_alone(
    shop: str, context: BrowserContext, sandbox: Sandbox
) -> None:
    page = context.new_page()
    passwords = {name: password for name, password, _who in reset_logins()}
    reference = _pay_too_little(sandbox)
    page.goto(f"{shop}/admin/payments_pages/")
    page.keyboard.type("manager")  # the name has the focus
    press_until(page, "Tab", "Password")
    page.keyboard.type(passwords["manager"])
    page.keyboard.press("Enter")
    expect(page.locator(".pp-needs")).to_be_visible()
    press_until(page, "Tab", "held")
    page.keyboard.press("Enter")
    expect(page.locator("#result_list")).to_be_visible()
    expect(page.locator("#result_list")).to_contain_text(reference)
    press_until(page, "Tab", r"^\d{4}-\d\d-\d\d")
    page.keyboard.press("Enter")
    expect(page.locator(".pp-why")).to_be_visible()
    press_until(page, "Tab", "Approve and deliver")
    page.keyboard.press("Enter")
    expect(page.locator("textarea[name=note]")).to_be_visible()
    press_until(page, "Tab", "Reason")
    page.keyboard.type("Agreed on the telephone.")
    press_until(page, "Tab", "Approve and deliver")
    page.keyboard.press("Enter")
    expect(page.locator(".messagelist .success")).to_be_visible()
    fulfilment = Fulfilment.objects.get()
    assert (fulfilment.state, fulfilment.decided_by) == (FulfilmentState.DELIVERED, "manager")
    assert Licence.objects.count() == 1


def _pay_too_little(sandbox: Sandbox) -> str:
    page = create_page(name="Olive oil", amount=12050, slug="olive-oil")
    reference = sandbox.pay("olive-oil", amount=9000)
    confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)
    return reference


def _read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
