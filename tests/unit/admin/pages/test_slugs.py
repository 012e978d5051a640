"""While staff type a slug they see the address it makes, and whether it is free."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from payments_pages.models import PaymentPage
from payments_pages.pages import slug_key, slug_of_name
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import ADD, SLUG, add, fields_of, sent, text

pytestmark = pytest.mark.django_db


def ask(client: Client, slug: str) -> dict[str, str]:
    answer: dict[str, str] = client.get(SLUG, {"slug": slug}).json()
    return answer


def test_a_free_slug_is_free_and_a_taken_one_taken(staff: Client, sandbox: Sandbox) -> None:
    sandbox.add_page(slug="theirs", amount=1)
    assert ask(staff, "tea-box") == {"state": "free", "text": "This slug is free."}
    assert ask(staff, " tea-box ")["state"] == "free"
    assert ask(staff, "theirs")["state"] == "taken"
    assert sandbox.calls("GET", "/page/check_slug_availability/tea-box") == 2


def test_our_own_slugs_are_taken_without_a_call(
    staff: Client, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    assert ask(staff, "tea-box") == {
        "state": "taken",
        "text": "You already have a page with this slug.",
    }
    assert sandbox.requests == []


def test_a_page_that_was_begun_can_be_finished(staff: Client, sandbox: Sandbox) -> None:
    PaymentPage.objects.create(name="a", slug="begun", slug_key=slug_key("begun"))
    sandbox.add_page(slug="begun", amount=1)
    assert ask(staff, "begun")["state"] == "free"
    assert "adopt" in ask(staff, "begun")["text"]


@pytest.mark.parametrize("slug", ["", "شاي", "a/b", "123", "x" * 101, "x" * 5000, "a\0b", ".."])
def test_c60_what_no_path_can_carry_is_not_asked_about(
    staff: Client, sandbox: Sandbox, slug: str
) -> None:
    assert ask(staff, slug)["state"] == "invalid"
    assert sandbox.requests == []


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "status": 500},
        {"kind": "status", "status": 401},
        {"kind": "drop"},
        {"kind": "html"},
        {"kind": "truncated"},
    ],
    ids=lambda fault: f"{fault['kind']} {fault.get('status', '')}",
)
def test_without_an_answer_it_is_unknown_and_saving_will_check(
    staff: Client, sandbox: Sandbox, fault: dict[str, Any]
) -> None:
    sandbox.faults.add(operation="check_slug", **fault)
    answer = ask(staff, "tea-box")
    assert answer["state"] == "unknown"
    assert "cannot be checked right now" in answer["text"]


def test_only_who_may_add_pages_asks(person: Callable[..., Client], sandbox: Sandbox) -> None:
    assert person("view_paymentpage", "change_paymentpage").get(SLUG).status_code == 403
    assert Client().get(SLUG).status_code == 302
    adder = person("add_paymentpage", "view_paymentpage")
    assert ask(adder, "tea-box")["state"] == "free"
    assert adder.post(SLUG, {"slug": "tea-box"}).status_code == 405
    assert "no-store" in adder.get(SLUG, {"slug": "x"})["Cache-Control"]


def test_the_form_shows_the_address_and_works_without_a_script(
    staff: Client, sandbox: Sandbox
) -> None:
    shown = text(staff.get(ADD))
    assert f"{sandbox.pay_url}/<span" in shown
    assert f'data-check="{SLUG}"' in shown
    sandbox.add_page(slug="tea-box", amount=1)
    refused = text(add(staff, slug="tea-box"))
    assert 'data-blank="…">tea-box</span>' in refused, "an error shows the address that was tried"
    assert add(staff, slug="tea-box-2").status_code == 302


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Tea box", "tea-box"),
        ("Crème brûlée, 2 × 100g", "creme-brulee-2-100g"),
        ("The baker’s – own", "the-bakers-own"),
        ("  -- Tea --  ", "tea"),
        ("x" * 59 + " yz", "x" * 59),
        ("شاي بالنعناع", ""),
        ("תה", ""),
        ("Tea شاي", ""),
        ("2026", ""),
        ("!", ""),
        ("", ""),
    ],
)
def test_a_slug_is_made_of_a_latin_name_alone(name: str, slug: str) -> None:
    assert slug_of_name(name) == slug


def test_d17_a_blank_slug_is_made_of_the_name_also_without_a_script(
    staff: Client, sandbox: Sandbox
) -> None:
    form = {**fields_of(staff.get(ADD)), "name": "Green tea", "amount": "5", "slug": " "}
    assert staff.post(ADD, form).status_code == 302
    assert PaymentPage.objects.get().slug == "green-tea"


@pytest.mark.parametrize("holder", ["here", "at the service", "nobody knows"])
def test_d17_if_the_slug_of_the_name_is_not_free_the_suggested_one_is_used(
    staff: Client, sandbox: Sandbox, holder: str
) -> None:
    if holder == "here":
        add(staff, name="Green tea", slug="green-tea", amount="7")
    elif holder == "at the service":
        sandbox.add_page(slug="green-tea", amount=1)
    else:
        sandbox.faults.add(operation="check_slug", kind="status", status=503, times=2)
    form = {**fields_of(staff.get(ADD)), "name": "Green tea", "amount": "5", "slug": ""}
    for _twice in range(2):
        response = staff.post(ADD, form)
        assert response.status_code == 302, text(response)
    page = PaymentPage.objects.get(amount=500)
    assert page.slug == form["initial-slug"]
    assert len([body for body in sent(sandbox, "POST") if body["amount"] == "500"]) == 1


def test_d17_what_somebody_else_began_under_the_slug_of_the_name_is_not_adopted(
    staff: Client, sandbox: Sandbox
) -> None:
    """A slug that nobody typed must not finish another page, at another price."""
    PaymentPage.objects.create(
        name="Green tea", slug="green-tea", slug_key=slug_key("green-tea"), amount=700
    )
    form = {**fields_of(staff.get(ADD)), "name": "Green tea", "amount": "5", "slug": ""}
    assert staff.post(ADD, form).status_code == 302
    assert PaymentPage.objects.get(amount=500).slug == form["initial-slug"]
    assert PaymentPage.objects.get(slug="green-tea").remote_id is None
