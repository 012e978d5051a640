"""A new page like another one: its form is filled in, and nothing is made until it is saved."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from payments_pages.models import PaymentPage
from payments_pages.pages import create_page, slug_key
from payments_pages.sandbox import Sandbox
from tests.conftest import mirror_another
from tests.support.pages_admin import ADD, change_url, fields_of, sent, text

pytestmark = pytest.mark.django_db(transaction=True)

QUESTIONS: list[dict[str, Any]] = [
    {"display_name": "Phone", "variable_name": "phone", "required": True},
    {"display_name": "الاسم", "variable_name": "full_name"},
]


@pytest.fixture
def original(db: None, sandbox: Sandbox) -> PaymentPage:
    return create_page(
        name="Tea box",
        amount=1250,
        description="12 bags",
        slug="tea-box",
        custom_fields=QUESTIONS,
        metadata={"logo_url": "https://shop.example/l.png", "shelf": {"row": 5}},
        site_url="https://testserver",
    )


def like(page: PaymentPage) -> str:
    return f"{ADD}?like={page.pk}"


def test_everything_that_the_service_takes_is_the_same_but_the_slug(
    staff: Client, original: PaymentPage, sandbox: Sandbox
) -> None:
    shown = staff.get(like(original))
    form = fields_of(shown)
    assert len(sent(sandbox, "POST")) == 1, "nothing is made by looking"
    assert form["slug"] == form["initial-slug"] == "tea-box-2"
    assert form["amount"] == "12.50"
    assert staff.post(like(original), form).status_code == 302
    first, second = sent(sandbox, "POST")
    page = PaymentPage.objects.get(slug="tea-box-2")
    token, address = str(page.token), f"https://testserver/payments/callback/{page.token}/"
    assert second.pop("slug") == "tea-box-2"
    assert second.pop("redirect_url") == address != first.pop("redirect_url")
    assert second["metadata"].pop("payments_pages_token") == token
    assert first["metadata"].pop("payments_pages_token") == str(original.token)
    assert first.pop("slug") == "tea-box"
    assert second == first, "also what the form does not show of a question and of the metadata"


def test_what_is_changed_in_the_form_is_not_copied(
    staff: Client, original: PaymentPage, sandbox: Sandbox
) -> None:
    form = fields_of(staff.get(like(original)))
    changed = {"ask_for-1-label": "Telephone", "ask_for-2-label": "", "ask_for-2-name": ""}
    assert staff.post(like(original), {**form, **changed, "logo": ""}).status_code == 302
    body = sent(sandbox, "POST")[-1]
    assert body["custom_fields"] == [{"display_name": "Telephone", "variable_name": "phone"}]
    assert "logo_url" not in body["metadata"]


def test_the_page_has_the_button_and_the_form_says_what_it_is_filled_in_from(
    staff: Client, original: PaymentPage, person: Callable[..., Client]
) -> None:
    button = f'<a href="{like(original)}">New page like this one</a>'
    assert button in text(staff.get(change_url(original)))
    viewer = person("view_paymentpage")
    assert "New page like this one" not in text(viewer.get(change_url(original)))
    notices = [str(line) for line in staff.get(like(original)).context["notices"]]
    assert len(notices) == 2
    assert "Tea box</bdi>" in notices[0]
    assert "Nothing is made until you save." in notices[0]
    assert "&quot;row&quot;: 5" in notices[1], "what goes along unseen is shown"


def test_who_may_not_see_pages_copies_none(
    original: PaymentPage, person: Callable[..., Client], sandbox: Sandbox
) -> None:
    adder = person("add_paymentpage")
    form = fields_of(adder.get(like(original)))
    assert form["name"] == form["amount"] == form["logo"] == ""
    assert adder.post(like(original), {**form, "name": "Mine", "slug": "mine"}).status_code == 302
    assert "shelf" not in sent(sandbox, "POST")[-1]["metadata"]


@pytest.mark.parametrize("asked", ["", "x", "999", "9" * 30, "-1"])
def test_a_page_that_is_not_there_fills_nothing_in(staff: Client, asked: str) -> None:
    shown = staff.get(f"{ADD}?like={asked}")
    assert fields_of(shown)["name"] == ""
    assert not shown.context.get("notices")


def test_a_slug_that_is_taken_is_not_suggested(
    staff: Client, original: PaymentPage, sandbox: Sandbox
) -> None:
    mirror_another(sandbox, slug="tea-box-2", amount=100)
    sandbox.add_page(slug="tea-box-3", amount=100)  # of somebody else
    before = len(sandbox.requests)
    assert fields_of(staff.get(like(original)))["slug"] == "tea-box-4"
    asked = [call.path.rpartition("/")[2] for call in sandbox.requests[before:]]
    assert asked == ["tea-box-3", "tea-box-4"]
    copy = mirror_another(sandbox, slug="tea-box-4", amount=100)
    assert fields_of(staff.get(like(copy)))["slug"] == "tea-box-5", "no tea-box-4-2"
    for number in range(5, 9):
        sandbox.add_page(slug=f"tea-box-{number}", amount=100)
    suggested = fields_of(staff.get(like(original)))["slug"]
    assert "-" not in suggested, "a random one, rather than a call for each number"


@pytest.mark.parametrize(
    ("name", "slug", "suggested"),
    [
        ("Green tea", "noRzm9D77H", "green-tea-2"),
        ("شاي", "mint", "mint-2"),
        ("شاي", "noRzm9D77H", ""),
        ("Tea", "t" * 100, "t" * 98 + "-2"),
    ],
)
def test_the_suggestion_is_made_of_what_people_can_read(
    staff: Client, sandbox: Sandbox, name: str, slug: str, suggested: str
) -> None:
    page = mirror_another(sandbox, name=name, slug=slug, amount=100)
    found = fields_of(staff.get(like(page)))["slug"]
    assert found == suggested or (not suggested and len(found) == 10)


def test_the_form_opens_although_the_service_does_not_answer(
    staff: Client, original: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.faults.add(operation="check_slug", kind="status", status=503)
    form = fields_of(staff.get(like(original)))
    assert (form["name"], form["slug"]) == ("Tea box", "tea-box-2")


@pytest.mark.parametrize(
    ("fields", "amount", "words"),
    [
        ({"currency": "JOD"}, "12.50", "the service gives a new page the currency"),
        ({"currency": "XAU"}, "", "The decimals of its currency are not known"),
        ({"currency": "", "remote_id": None}, "12.50", ""),
        ({"amount": None}, "", ""),
    ],
)
def test_a_price_of_another_currency_is_pointed_out(
    staff: Client,
    original: PaymentPage,
    sandbox: Sandbox,
    fields: dict[str, Any],
    amount: str,
    words: str,
) -> None:
    mirror_another(sandbox, slug="newest", amount=100)
    PaymentPage.objects.filter(pk=original.pk).update(**fields)
    shown = staff.get(like(original))
    assert fields_of(shown)["amount"] == amount
    notices = " ".join(str(line) for line in shown.context["notices"])
    assert words in notices
    assert len(shown.context["notices"]) == 2 + bool(words)


def test_a_price_that_was_never_confirmed_is_read_as_it_was_typed(
    staff: Client, original: PaymentPage
) -> None:
    PaymentPage.objects.update(currency="", remote_id=None)
    assert fields_of(staff.get(like(original)))["amount"] == "12.50"


def test_questions_of_an_unknown_kind_are_said_to_stay_behind(
    staff: Client, original: PaymentPage, sandbox: Sandbox
) -> None:
    PaymentPage.objects.update(custom_fields=[QUESTIONS[0], "odd", {"a": 1}], metadata=["odd"])
    shown = staff.get(like(original))
    form = fields_of(shown)
    assert "2 questions of that page" in " ".join(str(line) for line in shown.context["notices"])
    assert staff.post(like(original), form).status_code == 302
    assert sent(sandbox, "POST")[-1]["custom_fields"] == [QUESTIONS[0]]


def test_the_price_is_not_asked_about_again(
    staff: Client, original: PaymentPage, sandbox: Sandbox
) -> None:
    PaymentPage.objects.update(amount=10**12)
    form = fields_of(staff.get(like(original)))
    assert staff.post(like(original), form).status_code == 302
    assert PaymentPage.objects.filter(slug_key=slug_key("tea-box-2"), amount=10**12).exists()
