"""Staff know in which currency a new page will be, and a price far above all others is asked about."""

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils.html import strip_tags

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.conftest import mirror_another
from tests.support.pages_admin import ADD, LIST, add, change_url, fields_of, sent, text

pytestmark = pytest.mark.django_db

HUGE = "99999999999"


def told(response: Any) -> list[str]:
    return [strip_tags(str(message)) for message in get_messages(response.wsgi_request)]


def label_and_help(client: Client) -> tuple[str, str]:
    field = client.get(ADD).context["adminform"].form["amount"]
    return str(field.label), str(field.help_text)


def test_the_form_names_the_currency_of_the_last_page(staff: Client, sandbox: Sandbox) -> None:
    label, words = label_and_help(staff)
    assert label == "Amount in the currency of your account"
    assert words == "For example 120.50. Leave it empty to let the payer choose."
    mirror_another(sandbox, slug="one", amount=100)
    mirror_another(sandbox, slug="two", amount=100, currency="JOD")
    label, words = label_and_help(staff)
    assert label == "Amount in the currency of your account"
    assert words.startswith("The last page that was made is in JOD. For example 120.50.")


@pytest.mark.parametrize(
    ("amount", "words"),
    [("12.5", "Payers pay 12.50\u00a0ILS at "), ("", "Payers choose the amount themselves at ")],
)
def test_after_saving_the_price_is_said_and_the_address_can_be_copied(
    staff: Client, sandbox: Sandbox, amount: str, words: str
) -> None:
    response = add(staff, amount=amount)
    _added, said = told(response)
    assert said.startswith(f"{words}{sandbox.pay_url}/tea-box")
    assert f'data-copy="{sandbox.pay_url}/tea-box"' in text(staff.get(LIST))


def test_a_window_that_closes_says_nothing(staff: Client, sandbox: Sandbox) -> None:
    assert not any("Payers" in words for words in told(add(staff, _popup="1")))


@pytest.mark.parametrize("form", ["add", "change"])
def test_a_price_far_above_all_others_is_asked_about_once(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox, form: str
) -> None:
    url = ADD if form == "add" else change_url(tea_box)
    typed = {**fields_of(staff.get(url)), "name": "Tea", "amount": HUGE}
    asked = staff.post(url, typed)
    (words,) = asked.context["adminform"].form.errors["amount"]
    assert words.startswith("Really 99,999,999,999.00\u00a0ILS?")
    assert sent(sandbox, "POST") == sent(sandbox, "PUT") == []
    again = {**fields_of(asked), "name": "Tea"}
    assert again["amount"] == HUGE
    other = staff.post(url, {**again, "amount": f"{HUGE}9"})
    assert other.status_code == 200, "it was not asked about this one"
    assert staff.post(url, again).status_code == 302
    assert PaymentPage.objects.latest("amount").amount == 9_999_999_999_900
    reopened = fields_of(staff.get(change_url(PaymentPage.objects.latest("amount"))))
    reopened["description"] = "New words alone"
    page_url = change_url(PaymentPage.objects.latest("amount"))
    assert staff.post(page_url, reopened).status_code == 302


def test_an_ordinary_price_is_not_asked_about(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    assert add(staff, amount="10,000", slug="ten").status_code == 302
    assert add(staff, amount="200,000", slug="dear").status_code == 302, "20 times the highest"
    assert add(staff, amount="4,000,000.01", slug="dearer").status_code == 200


def test_pages_of_another_currency_or_mode_tell_nothing_of_the_price(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    mirror_another(sandbox, slug="jod", amount=10**12, currency="JOD")
    live = mirror_another(sandbox, slug="live", amount=10**12)
    PaymentPage.objects.filter(pk=live.pk).update(domain="live")
    mirror_another(sandbox, slug="last", amount=100)
    assert add(staff, amount="1,000,000", slug="dear").status_code == 200


def test_a_price_of_unknown_decimals_is_said_in_words_that_staff_read(
    staff: Client, tea_box: PaymentPage
) -> None:
    PaymentPage.objects.update(currency="XAU", amount=4500)
    shown = text(staff.get(LIST))
    assert '<bdi dir="ltr" class="pp-nowrap">4,500\u00a0XAU</bdi> (in smallest units)' in shown
    shown = text(staff.get(LIST, headers={"accept-language": "ar"}))
    assert "4,500\u00a0XAU</bdi> (بأصغر الوحدات)" in shown
    PaymentPage.objects.update(currency="")
    assert "4,500</bdi> (in smallest units)" in text(staff.get(LIST))


def test_thousands_are_grouped_in_the_list(staff: Client, tea_box: PaymentPage) -> None:
    PaymentPage.objects.update(amount=9_999_999_999_900)
    assert "99,999,999,999.00\u00a0ILS" in text(staff.get(LIST))


def test_a_first_price_is_asked_about_without_a_currency(staff: Client, sandbox: Sandbox) -> None:
    asked = add(staff, amount="10,000.05")
    (words,) = asked.context["adminform"].form.errors["amount"]
    assert words.startswith("Really 10,000.05?")
