"""Pages are made and changed at the service first; the mirror shows what is there."""

import json
from typing import Any

import pytest
from django.db import transaction as db_transaction

from payments_pages.conf import conf
from payments_pages.exceptions import (
    AuthenticationFailed,
    InvalidResponse,
    OpenTransactionError,
    PageError,
    RequestRefused,
    ServiceError,
    ServiceUnavailable,
)
from payments_pages.models import PaymentPage
from payments_pages.money import format_amount, parse_amount
from payments_pages.pages import create_page, public_url, set_active, update_page
from payments_pages.pages.changes import resume_page
from payments_pages.sandbox import Sandbox
from tests.conftest import in_thread

pytestmark = pytest.mark.django_db


def sent(sandbox: Sandbox, method: str) -> list[dict[str, Any]]:
    return [json.loads(call.body) for call in sandbox.requests if call.method == method]


def make(**fields: Any) -> PaymentPage:
    return create_page(**{"name": "Tea box", "amount": 10000, "slug": "tea-box", **fields})


def test_a_page_is_created_at_the_service_and_mirrored(sandbox: Sandbox) -> None:
    page = make(
        description="12 bags",
        custom_fields=[{"display_name": "Phone", "variable_name": "phone"}],
        metadata={"logo": "https://shop.example/logo.png"},
    )
    page.refresh_from_db()
    there = sandbox.state.page_by_slug("tea-box")
    assert there is not None
    assert (page.remote_id, page.slug, page.currency) == (there["id"], "tea-box", "ILS")
    assert (page.amount, there["amount"]) == (10000, 10000)
    assert page.synced_at is not None
    assert there["redirect_url"] == f"{conf.site_url}/payments/callback/{page.token}/"
    assert there["metadata"] == {
        "logo": "https://shop.example/logo.png",
        "payments_pages_token": str(page.token),
    }
    assert public_url(page) == f"{sandbox.pay_url}/tea-box"
    operations = [call.operation for call in sandbox.requests]
    assert operations == ["check_slug", "create"]


@pytest.mark.parametrize(
    ("typed", "currency", "minor", "shown"),
    [
        ("599.80", "ILS", 59980, "599.80\u00a0ILS"),
        ("19.99", "ILS", 1999, "19.99\u00a0ILS"),
        ("0.29", "ILS", 29, "0.29\u00a0ILS"),
        ("12.50", "JOD", 1250, "12.50\u00a0JOD"),
        ("0.1", "JOD", 10, "0.10\u00a0JOD"),
        ("1,234.5", "USD", 123450, "1,234.50\u00a0USD"),
        ("92233720368547758.07", "USD", 2**63 - 1, "92,233,720,368,547,758.07\u00a0USD"),
    ],
)
def test_c42_an_amount_leaves_as_a_string_on_create_and_as_an_integer_on_update(
    sandbox: Sandbox, typed: str, currency: str, minor: int, shown: str
) -> None:
    sandbox.set_account(currency=currency)
    page = make(amount=parse_amount(typed, currency))
    assert sent(sandbox, "POST")[0]["amount"] == str(minor)
    update_page(page, amount=1)
    update_page(page, amount=parse_amount(typed, currency))
    body = sent(sandbox, "PUT")[-1]
    assert body["amount"] == minor
    assert type(body["amount"]) is int
    page.refresh_from_db()
    assert page.amount == minor
    assert format_amount(page.amount, page.currency) == shown
    assert sandbox.state.pages()[0]["amount"] == minor


@pytest.mark.parametrize("amount", [0, -5, True, 599.8, "100", 2**63])
def test_c42_what_is_no_amount_is_refused_before_any_call(sandbox: Sandbox, amount: Any) -> None:
    with pytest.raises(PageError) as caught:
        make(amount=amount)
    assert caught.value.field == "amount"
    assert sandbox.requests == []
    assert not PaymentPage.objects.exists()
    page = make()
    calls = len(sandbox.requests)
    with pytest.raises(PageError):
        update_page(page, amount=amount)
    assert len(sandbox.requests) == calls


def test_without_an_amount_none_is_sent(sandbox: Sandbox) -> None:
    page = make(amount=None)
    assert "amount" not in sent(sandbox, "POST")[0]
    assert page.amount is None


@pytest.mark.parametrize(("name", "field"), [("", "name"), ("   ", "name"), ("x" * 256, "name")])
def test_a_name_is_checked_before_any_call(sandbox: Sandbox, name: str, field: str) -> None:
    with pytest.raises(PageError) as caught:
        make(name=name)
    assert caught.value.field == field
    assert sandbox.requests == []


@pytest.mark.parametrize(
    "slug",
    ["a/b", "x" * 500, "check_slug_availability", "شاي", "12345", ".", "..", "a b", "a%2Fb",
     "-tea", "_tea", "tea\n", "١٢a"],
)  # fmt: skip
def test_c60_a_slug_that_no_path_can_carry_is_refused_before_any_call(
    sandbox: Sandbox, slug: str
) -> None:
    if slug == "tea\n":
        assert make(slug=slug).slug == "tea"
        return
    with pytest.raises(PageError) as caught:
        make(slug=slug)
    assert caught.value.field == "slug"
    assert sandbox.requests == []


def test_c60_a_blank_slug_is_made_up_here_so_that_the_page_can_be_found(sandbox: Sandbox) -> None:
    slugs = {make(name="شاي بالنعناع", slug=blank).slug for blank in ("", "  ", "")}
    assert len(slugs) == 3
    assert {body["slug"] for body in sent(sandbox, "POST")} == slugs


def test_slugs_that_differ_by_case_are_two_pages(sandbox: Sandbox) -> None:
    make(slug="Tea-Box")
    make(slug="tea-box")
    assert PaymentPage.objects.count() == 2


def test_a_slug_that_is_taken_is_told_before_anything_is_made(sandbox: Sandbox) -> None:
    sandbox.add_page(slug="tea-box", amount=1)
    with pytest.raises(PageError, match="taken"):
        make()
    assert not PaymentPage.objects.exists()
    assert sandbox.calls("POST", "/page") == 0
    make(slug="mine")
    with pytest.raises(PageError, match="already have"):
        make(slug="mine")
    assert PaymentPage.objects.count() == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"kind": "status", "status": 400}, RequestRefused),
        ({"kind": "status", "status": 401}, AuthenticationFailed),
        ({"kind": "status", "status": 429}, ServiceUnavailable),
    ],
)
def test_a_refused_creation_leaves_no_row(
    sandbox: Sandbox, fault: dict[str, Any], error: type[Exception]
) -> None:
    sandbox.faults.add(operation="create", **fault)
    with pytest.raises(error):
        make()
    assert not PaymentPage.objects.exists()
    sandbox.faults.clear()
    assert make().remote_id is not None


@pytest.mark.parametrize(
    "fault",
    [{"kind": "answer_lost"}, {"kind": "truncated"}, {"kind": "html", "status": 504},
     {"kind": "redirect"}, {"kind": "patch", "data": {"id": "x"}}],
    ids=lambda fault: fault["kind"],
)  # fmt: skip
def test_c53_a_creation_whose_answer_was_lost_is_looked_for_and_not_repeated(
    sandbox: Sandbox, fault: dict[str, Any]
) -> None:
    sandbox.faults.add(operation="create", times=1, **fault)
    done = fault["kind"] != "html"
    if done:
        page = make()
        assert page.remote_id == sandbox.state.pages()[0]["id"]
        assert sandbox.calls("POST", "/page") == 1
    else:
        with pytest.raises(PageError) as caught:
            make()
        assert (caught.value.slug, caught.value.field) == ("tea-box", "slug")
    assert PaymentPage.objects.count() == 1


@pytest.mark.parametrize("done", [True, False])
def test_c53_saving_again_after_silence_makes_one_page(
    sandbox: Sandbox, configure: Any, done: bool
) -> None:
    configure(DEADLINE=0.3)
    kind: dict[str, Any] = {"kind": "answer_lost"} if done else {"kind": "drop"}
    sandbox.faults.add(operation="create", times=1, **kind)
    sandbox.faults.add(operation="fetch", kind="hang", times=1)
    with pytest.raises(PageError, match="tea-box"):
        make()
    waiting = PaymentPage.objects.get()
    assert (waiting.remote_id, waiting.slug) == (None, "tea-box")
    page = make()
    assert len(sandbox.state.pages()) == PaymentPage.objects.count() == 1
    assert page.remote_id == sandbox.state.pages()[0]["id"]
    assert sandbox.calls("POST", "/page") == (1 if done else 2)
    assert page.token == waiting.token, "the address a payer returns to is the one that was sent"
    assert str(waiting.token) in sandbox.state.pages()[0]["redirect_url"]


def test_an_unfinished_page_is_not_taken_for_another(sandbox: Sandbox) -> None:
    page = PaymentPage.objects.create(name="a", slug="tea", slug_key="k")
    assert resume_page(page) is None
    sandbox.add_page(slug="tea", amount=1)
    sandbox.faults.add(operation="fetch", kind="patch", data={"slug": "Tea"}, times=1)
    with pytest.raises(InvalidResponse):
        resume_page(page)
    adopted = resume_page(page)
    assert adopted is not None
    assert adopted.remote_id == 18


@pytest.mark.django_db(transaction=True)
def test_two_who_save_the_same_slug_at_once_lose_no_page(sandbox: Sandbox) -> None:
    """Between our look and our save the other's page is confirmed: it must stay confirmed."""
    from payments_pages.pages.changes import slug_key

    theirs = PaymentPage.objects.create(name="A", slug="tea-box", slug_key=slug_key("tea-box"))

    def finish() -> None:
        there = sandbox.add_page(slug="tea-box", amount=10000)
        PaymentPage.objects.filter(pk=theirs.pk).update(remote_id=there["id"])

    sandbox.faults.add(
        operation="fetch", kind="run", function=lambda: in_thread(finish).result(), times=1
    )
    with pytest.raises(PageError, match="already have"):
        make()
    theirs.refresh_from_db()
    assert (theirs.remote_id, theirs.name) == (18, "A")


@pytest.mark.django_db(transaction=True)
def test_a_refusal_does_not_delete_what_another_has_confirmed(sandbox: Sandbox) -> None:
    def finish() -> None:
        PaymentPage.objects.update(remote_id=18)

    sandbox.faults.add(
        operation="create", kind="run", function=lambda: in_thread(finish).result(), times=1
    )
    sandbox.faults.add(operation="create", kind="status", status=400)
    with pytest.raises(RequestRefused):
        make()
    assert PaymentPage.objects.get().remote_id == 18


# Changes


def test_c55_only_what_changes_is_sent_with_the_name(sandbox: Sandbox) -> None:
    page = make(description="12 bags")
    set_active(page, active=False)
    assert sent(sandbox, "PUT") == [{"name": "Tea box", "active": False}]
    there = sandbox.state.pages()[0]
    assert (there["description"], there["amount"], there["active"]) == ("12 bags", 10000, False)
    page.refresh_from_db()
    assert (page.description, page.amount, page.active) == ("12 bags", 10000, False)
    set_active(page, active=False)
    set_active(page, active=True)
    page.refresh_from_db()
    assert page.active


@pytest.mark.parametrize(
    "fault",
    [{"kind": "status", "status": 500}, {"kind": "status", "status": 404}, {"kind": "drop"},
     {"kind": "html"}],
    ids=lambda fault: f"{fault['kind']} {fault.get('status', '')}",
)  # fmt: skip
def test_c55_a_change_that_failed_changes_no_mirror(
    sandbox: Sandbox, fault: dict[str, Any]
) -> None:
    page = make()
    sandbox.faults.add(operation="update", **fault)
    with pytest.raises(ServiceError):
        update_page(page, name="New", amount=5, active=False)
    page.refresh_from_db()
    assert (page.name, page.amount, page.active) == ("Tea box", 10000, True)


def test_an_answer_that_does_not_show_the_change_is_checked_by_a_fetch(sandbox: Sandbox) -> None:
    page = make()
    sandbox.faults.add(operation="update", kind="patch", data={"amount": None}, times=1)
    update_page(page, amount=1999)
    page.refresh_from_db()
    assert page.amount == 1999
    assert sandbox.calls("GET", f"/page/{page.remote_id}") == 2, "for its name, and to look"


def test_a_change_that_the_service_did_not_take_is_told(sandbox: Sandbox) -> None:
    page = make()
    sandbox.faults.add(operation="update", kind="patch", data={"amount": 10000})
    sandbox.faults.add(operation="fetch", kind="patch", data={"amount": 10000})
    with pytest.raises(PageError, match="did not take"):
        update_page(page, amount=1999)
    page.refresh_from_db()
    assert page.amount == 10000


def test_an_unfinished_page_cannot_be_changed(sandbox: Sandbox) -> None:
    page = PaymentPage.objects.create(name="a", slug="tea", slug_key="k")
    with pytest.raises(PageError, match="not confirmed"):
        set_active(page, active=False)
    assert sandbox.requests == []


def test_the_site_must_know_its_own_address(sandbox: Sandbox, configure: Any) -> None:
    configure(SITE_URL=None)
    with pytest.raises(PageError, match="SITE_URL"):
        make()
    assert not PaymentPage.objects.exists()
    page = make(site_url="https://shop.example/")
    assert page.redirect_url == f"https://shop.example/payments/callback/{page.token}/"


@pytest.mark.django_db(transaction=True)
def test_no_page_is_made_or_changed_inside_a_transaction(sandbox: Sandbox) -> None:
    page = make()
    for change in (
        lambda: make(slug="b"),
        lambda: set_active(page, active=False),
        lambda: resume_page(page),
    ):
        with db_transaction.atomic(), pytest.raises(OpenTransactionError):
            change()
    assert [call.operation for call in sandbox.requests] == ["check_slug", "create"]
