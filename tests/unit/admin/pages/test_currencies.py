"""A price is read by the decimals of the account's currency, and never silently by others (D32)."""

import html
import json
import re
from typing import Any

import pytest
from django.contrib import messages
from django.test import Client

from payments_pages.models import PaymentPage
from payments_pages.pages.changes import slug_key
from payments_pages.sandbox import Sandbox
from tests.conftest import mirror_page
from tests.support.pages_admin import ADD, LIST, change_url, sent, text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LANGUAGES = ["en", "ar", "he"]
EXTRA = {"KWD": 3, "JPY": 0}


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> dict[str, str]:
    return {"accept-language": request.param}


@pytest.fixture
def account(sandbox: Sandbox, configure: Any) -> Any:
    """An account in a currency, whose first page is mirrored already."""

    def make(currency: str, *, pages: int = 1) -> Sandbox:
        configure(CURRENCIES=EXTRA)
        sandbox.set_account(currency=currency)
        for number in range(pages):
            mirror_page(sandbox.add_page(name="Old", slug=f"old-{number}", amount=1000))
        return sandbox

    return make


def add(client: Client, amount: str, language: dict[str, str] | None = None, **more: str) -> Any:
    form = {"name": "Tea box", "slug": "tea-box", "amount": amount, **more}
    return client.post(ADD, form, headers=language or {})


def error(response: Any) -> str:
    assert response.status_code == 200, response["Location"]
    (told,) = response.context["adminform"].form.errors["amount"]
    return str(told)


def warned_of(client: Client) -> list[str]:
    shown = client.get(LIST).context["messages"]
    return [str(message) for message in shown if message.level == messages.WARNING]


@pytest.mark.parametrize(
    ("currency", "typed", "minor"),
    [
        ("KWD", "1.5", 1500),
        ("KWD", "1.250", 1250),
        ("KWD", "١٫٢٥٠", 1250),
        ("KWD", "1,500", 1500000),
        ("KWD", "1.5 KWD", 1500),
        ("JPY", "500", 500),
        ("JPY", "12,000", 12000),
        ("JPY", "١٢٬٠٠٠", 12000),
        ("ILS", "1.5", 150),
        ("ILS", "1,500.00", 150000),
        ("ILS", "₪ 120.50", 12050),
        ("JOD", "1.50", 150),
        ("JOD", "5 JD", 500),
        ("JOD", "٥٫٢٥ د.أ", 525),
    ],
)
def test_a_price_is_read_in_the_currency_of_the_pages_there_are(
    staff: Client, account: Any, language: dict[str, str], currency: str, typed: str, minor: int
) -> None:
    sandbox = account(currency)
    shown = text(staff.get(ADD, headers=language))
    assert 'name="amount_currency"' not in shown, "there is nothing to choose"
    assert add(staff, typed, language).status_code == 302
    (body,) = sent(sandbox, "POST")
    assert body["amount"] == str(minor)
    page = PaymentPage.objects.get(slug="tea-box")
    assert (page.amount, page.currency) == (minor, currency)
    assert warned_of(staff) == []


@pytest.mark.parametrize(
    ("currency", "typed", "words"),
    [
        ("KWD", "1.2345", ["3"]),
        ("KWD", "1,50", []),
        ("JPY", "1.5", ["JPY"]),
        ("JPY", "12.000", ["12", "12,000"]),
        ("ILS", "1.500", ["1.50", "1,500"]),
        ("ILS", "12.000", ["12.00", "12,000"]),
        ("ILS", "١٫٥٠٠", ["1.50", "1,500"]),
        ("ILS", "1.005", ["2"]),
        ("JOD", "1.500", ["1.50", "1,500"]),
        ("JOD", "1.255", ["2"]),
        ("ILS", "5 JOD", []),
        ("KWD", "5 ILS", []),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_with_both(
    staff: Client,
    account: Any,
    language: dict[str, str],
    currency: str,
    typed: str,
    words: list[str],
) -> None:
    sandbox = account(currency)
    message = error(add(staff, typed, language))
    assert all(word in message for word in words), message
    assert sent(sandbox, "POST") == []


@pytest.mark.parametrize(
    ("currency", "typed", "minor"), [("KWD", "1.5", 1500), ("JPY", "500", 500), ("ILS", "5", 500)]
)
def test_before_the_first_page_the_currency_is_chosen_in_the_form(
    staff: Client, account: Any, language: dict[str, str], currency: str, typed: str, minor: int
) -> None:
    sandbox = account(currency, pages=0)
    shown = text(staff.get(ADD, headers=language))
    offered = re.findall(r'<option value="([A-Z]*)"', shown.split('name="amount_currency"')[1])
    assert offered[:6] == ["", "ILS", "JOD", "JPY", "KWD", "USD"]
    error(add(staff, typed, language))
    assert sent(sandbox, "POST") == [], "not by a guess"
    assert add(staff, typed, language, amount_currency=currency).status_code == 302
    assert sent(sandbox, "POST")[0]["amount"] == str(minor)
    assert warned_of(staff) == []


def test_a_page_on_which_the_payer_chooses_needs_no_currency(staff: Client, account: Any) -> None:
    account("KWD", pages=0)
    assert add(staff, "").status_code == 302


def test_where_all_currencies_count_hundredths_nothing_is_asked(
    staff: Client, sandbox: Sandbox
) -> None:
    assert 'name="amount_currency"' not in text(staff.get(ADD))
    error(add(staff, "5 USD"))
    assert add(staff, "1.5").status_code == 302
    assert sent(sandbox, "POST")[0]["amount"] == "150"


def test_an_account_with_pages_of_several_decimals_asks_which_it_is(
    staff: Client, account: Any
) -> None:
    sandbox = account("ILS")
    mirror_page(sandbox.add_page(name="New", slug="new", amount=1000, currency="KWD"))
    assert 'name="amount_currency"' in text(staff.get(ADD))
    error(add(staff, "1.5"))
    sandbox.set_account(currency="KWD")
    assert add(staff, "1.5", amount_currency="KWD").status_code == 302
    assert sent(sandbox, "POST")[0]["amount"] == "1500"
    error(add(staff, "1.5", amount_currency="JPY", slug="other"))


def test_pages_of_the_other_mode_say_nothing(staff: Client, account: Any) -> None:
    account("KWD")
    PaymentPage.objects.update(domain="live")
    assert 'name="amount_currency"' in text(staff.get(ADD))


@pytest.mark.parametrize(
    ("pages", "assumed", "answered", "price"),
    [
        (1, "ILS", "KWD", "0.150"),
        (1, "KWD", "ILS", "15.00"),
        (0, "JPY", "KWD", "0.150"),
        (1, "ILS", "JOD", "1.50"),
    ],
)
def test_another_currency_than_the_price_was_read_in_is_never_silent(
    staff: Client, account: Any, pages: int, assumed: str, answered: str, price: str
) -> None:
    sandbox = account(assumed, pages=pages)
    sandbox.set_account(currency=answered)
    typed = {"ILS": "1.5", "KWD": "1.5", "JPY": "150"}[assumed]
    more = {} if pages else {"amount_currency": assumed}
    assert add(staff, typed, **more).status_code == 302
    (warned,) = warned_of(staff)
    assert assumed in warned
    assert f"{price}\u00a0{answered}" in warned


def test_a_currency_whose_decimals_nobody_knows_is_said_after_the_first_page(
    staff: Client, sandbox: Sandbox
) -> None:
    sandbox.set_account(currency="KWD")
    assert add(staff, "1.5").status_code == 302
    (warned,) = warned_of(staff)
    assert "150\u00a0KWD (in smallest units)" in warned
    message = error(add(staff, "1.5", slug="second"))
    assert "KWD" in message
    assert "CURRENCIES" in message


def test_a_pages_own_currency_counts_when_it_is_changed(staff: Client, account: Any) -> None:
    sandbox = account("KWD")
    page = PaymentPage.objects.get()
    shown = text(staff.get(change_url(page)))
    assert 'name="amount_currency"' not in shown
    assert 'name="amount" value="1.000"' in html.unescape(shown)
    form = {"name": "Old", "description": "", "active": "on"}
    assert staff.post(change_url(page), {**form, "amount": "2.250"}).status_code == 302
    assert json.loads(sandbox.requests[-1].body)["amount"] == 2250


def test_a_creation_that_was_not_answered_is_finished_in_the_currency_that_is_chosen(
    staff: Client, account: Any
) -> None:
    """Its row holds minor units of a currency that nobody knows any more: they are not shown."""
    sandbox = account("KWD", pages=0)
    page = PaymentPage.objects.create(
        name="Tea", slug="tea-box", slug_key=slug_key("tea-box"), amount=1500
    )
    shown = text(staff.get(change_url(page)))
    assert 'name="amount_currency"' in shown
    assert '"15.00"' not in shown
    form = {"name": "Tea", "description": "", "active": "on", "amount_currency": "KWD"}
    error(staff.post(change_url(page), {**form, "amount": ""}))
    assert sent(sandbox, "POST") == []
    assert staff.post(change_url(page), {**form, "amount": "1.5"}).status_code == 302
    assert sent(sandbox, "POST")[0]["amount"] == "1500"
