"""One page of the list that cannot be mirrored is left out by name, and stops nothing (D01)."""

import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client

from payments_pages.client import PageResource
from payments_pages.exceptions import UnreadablePage
from payments_pages.models import PaymentPage
from payments_pages.pages import send_local_back, set_active, sync_pages, update_page
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import LIST, SYNC, change_url, fields_of, text

pytestmark = pytest.mark.django_db

ODD: dict[str, dict[str, Any]] = {
    "free": {"amount": 0},
    "negative": {"amount": -5},
    "fraction": {"amount": "1.5"},
    "huge": {"amount": 2**63},
    "slug too long": {"slug": "x" * 256},
    "slug of blanks": {"slug": "  "},
    "slug with NUL": {"slug": "a\0b"},
}
over_odd_pages = pytest.mark.parametrize("odd", ODD.values(), ids=ODD)


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("staff"))
    return client


def fill(sandbox: Sandbox) -> None:
    for number in range(3):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=100 + number)


def told(client: Client) -> list[str]:
    return [str(message) for message in client.get(LIST).context["messages"]]


def slugs() -> list[str]:
    return list(PaymentPage.objects.order_by("slug").values_list("slug", flat=True))


@over_odd_pages
def test_the_command_mirrors_the_others_and_names_the_odd_one(
    sandbox: Sandbox, odd: dict[str, Any]
) -> None:
    fill(sandbox)
    page = sandbox.add_page(name="Odd one", slug="odd", amount=1)
    sandbox.state.change_page(page["id"], odd)
    out, err = io.StringIO(), io.StringIO()
    call_command("payments_pages_sync", stdout=out, stderr=err)
    assert slugs() == ["page-0", "page-1", "page-2"]
    assert "Synced 3 pages: 3 added" in out.getvalue()
    assert f"Left out: Page {page['id']} “Odd one”" in err.getvalue()


@over_odd_pages
def test_the_admins_sync_mirrors_the_others_and_names_the_odd_one(
    sandbox: Sandbox, staff: Client, odd: dict[str, Any]
) -> None:
    fill(sandbox)
    page = sandbox.add_page(name="<i>Odd one</i>", slug="odd", amount=1)
    sandbox.state.change_page(page["id"], odd)
    assert staff.post(SYNC).status_code == 302
    assert slugs() == ["page-0", "page-1", "page-2"]
    warning = next(message for message in told(staff) if "left out" in message)
    name = '<bdi dir="auto">&lt;i&gt;Odd one&lt;/i&gt;</bdi>'
    assert f"Page {page['id']} “{name}”" in warning
    staff.post(SYNC)
    assert "<i>Odd one</i>" not in text(staff.get(LIST))


@over_odd_pages
def test_an_odd_page_is_listed_so_it_is_not_missing_and_others_are(
    sandbox: Sandbox, odd: dict[str, Any]
) -> None:
    fill(sandbox)
    sync_pages()
    turned, gone = PaymentPage.objects.get(slug="page-0"), PaymentPage.objects.get(slug="page-1")
    assert turned.remote_id is not None
    assert gone.remote_id is not None
    sandbox.state.change_page(turned.remote_id, odd)
    sandbox.state.forget_page(gone.remote_id)
    report = sync_pages()
    assert (report.skipped, report.missing, report.unchanged) == (1, 1, 1)
    turned.refresh_from_db()
    gone.refresh_from_db()
    assert turned.missing_since is None
    assert gone.missing_since is not None


@over_odd_pages
def test_its_form_and_its_switch_say_why_and_never_break(
    sandbox: Sandbox, staff: Client, odd: dict[str, Any]
) -> None:
    fill(sandbox)
    sync_pages()
    page = PaymentPage.objects.get(slug="page-0")
    form = fields_of(staff.get(change_url(page)))
    assert page.remote_id is not None
    sandbox.state.change_page(page.remote_id, odd)
    response = staff.post(change_url(page), {**form, "name": "New"})
    assert response.status_code == 200
    assert f"Page {page.remote_id}" in text(response)
    for action in ("activate_pages", "deactivate_pages"):
        response = staff.post(
            LIST, {"action": action, "_selected_action": page.pk, "confirmed": "1"}
        )
        assert response.status_code == 200
        assert "cannot be mirrored" in text(response)
    assert sandbox.calls("PUT", f"/page/{page.remote_id}") == 0


def test_a_list_of_odd_pages_alone_is_not_the_end_of_the_listing(sandbox: Sandbox) -> None:
    """Else the pages after it would be called missing."""
    sandbox.set_account(max_per_page=1)
    fill(sandbox)
    sync_pages()
    page = PaymentPage.objects.get(slug="page-1")
    assert page.remote_id is not None
    sandbox.state.change_page(page.remote_id, {"amount": 0})
    report = sync_pages()
    assert (report.skipped, report.missing, report.unchanged) == (1, 0, 2)


def test_steps_in_the_admin_carry_the_names_to_the_end(sandbox: Sandbox, staff: Client) -> None:
    odd = sandbox.add_page(name="Odd one", slug="odd", amount=1)
    for number in range(250):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=number + 1)
    first = sandbox.add_page(name="Odd two", slug="odd-2", amount=1)
    for page in (odd, first):
        sandbox.state.change_page(page["id"], {"amount": 0})
    response = staff.post(SYNC)
    while response.status_code == 200:
        token = text(response).split('name="token" value="')[1].split('"')[0]
        response = staff.post(SYNC, {"token": token})
    warning = next(message for message in told(staff) if "left out" in message)
    assert warning.startswith("2 listed pages were left out")
    assert "Odd one" in warning
    assert "Odd two" in warning
    assert PaymentPage.objects.count() == 250


def test_a_report_names_twenty_and_counts_all(sandbox: Sandbox) -> None:
    for number in range(30):
        page = sandbox.add_page(name=f"Odd {number}", slug=f"odd-{number}", amount=1)
        sandbox.state.change_page(page["id"], {"amount": 0})
    report = sync_pages()
    assert (report.skipped, len(report.skipped_pages)) == (30, 20)
    err = io.StringIO()
    call_command("payments_pages_sync", stdout=io.StringIO(), stderr=err)
    assert "Left out in all: 30 listed pages." in err.getvalue()


def test_what_the_database_refuses_is_named_and_the_rest_is_mirrored(sandbox: Sandbox) -> None:
    """A column in a narrow character set, or a constraint of the site's own."""
    fill(sandbox)
    refused = sandbox.add_page(name="Refused", slug="refused", amount=1)
    sync_pages()
    row = PaymentPage.objects.get(slug="refused")
    sandbox.set_page("refused", name="Renamed", slug="renamed")
    sandbox.set_page("page-0", name="شاي")
    with refusing("renamed"):
        report = sync_pages()
    assert (report.skipped, report.changed, report.missing) == (1, 1, 0)
    assert report.skipped_pages == (f"Page {refused['id']} “Renamed” was refused by the database.",)
    row.refresh_from_db()
    assert (row.name, row.missing_since) == ("Refused", None)
    assert PaymentPage.objects.get(slug="page-0").name == "شاي"
    assert sync_pages().changed == 1, "once the column takes it"


def refusing(slug: str) -> Any:
    """Let the database refuse a page's row as a column would that cannot hold it."""
    from django.db import IntegrityError

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE")) and slug in map(str, params or ()):
            # As the real one would end: what the transaction did before is undone by the caller.
            raise IntegrityError("refused")
        return execute(sql, params, many, context)

    return connection.execute_wrapper(refuse)


@pytest.mark.parametrize(
    ("payload", "number", "said"),
    [
        ({"id": 5}, 5, "Page 5 has no usable slug."),
        ({"id": 5, "slug": "x", "amount": 0, "name": "Tea\n box"}, 5, "Page 5 “Tea box” costs 0"),
        ({"id": 5, "slug": "x", "amount": -1}, 5, "Page 5 “x” costs -1"),
        ({"id": 5, "slug": "x", "amount": "1.5", "name": "n" * 300}, 5, f"Page 5 “{'n' * 60}” has"),
        ({"slug": "tea"}, None, "A page “tea” has no integer id."),
        ([], None, "A page in the answer is not an object."),
    ],
)
def test_an_error_names_the_page_as_far_as_the_answer_does(
    payload: Any, number: int | None, said: str
) -> None:
    with pytest.raises(UnreadablePage) as caught:
        PageResource.from_payload(payload)
    assert caught.value.number == number
    assert str(caught.value).startswith(said)


def test_no_name_is_cut_or_trimmed_by_a_switch(sandbox: Sandbox, staff: Client) -> None:
    """The service keeps names that our form would not take (D25)."""
    names = [
        "n" * 400,
        "  Tea box  ",
        "Tea box ",
        "Tea\tbox\u200f",
        "Tea\0box",
        "\ud800",
        "ش" * 256,
    ]
    for number, name in enumerate(names):
        page = sandbox.add_page(name="x", slug=f"page-{number}", amount=1)
        sandbox.state.change_page(page["id"], {"name": name})
    sync_pages()
    pages = list(PaymentPage.objects.order_by("slug"))
    for action in ("deactivate_pages", "activate_pages"):
        chosen = [page.pk for page in pages]
        response = staff.post(
            LIST, {"action": action, "_selected_action": chosen, "confirmed": "1"}
        )
        assert "✗" not in text(response).split('class="pp-table"')[1].split("</table>")[0]
        there = sorted(sandbox.state.pages(), key=lambda page: page["id"])
        assert [page["name"] for page in there] == names
        assert {page["active"] for page in there} == {action == "activate_pages"}


def test_no_name_is_cut_by_a_change_of_another_field(sandbox: Sandbox) -> None:
    page = sandbox.add_page(name="x", slug="tea", amount=1, description="d" * 12_000)
    sandbox.state.change_page(page["id"], {"name": "n" * 400})
    sync_pages()
    update_page(PaymentPage.objects.get(), amount=500)
    there = sandbox.state.pages()[0]
    assert (there["name"], there["amount"]) == ("n" * 400, 500)
    assert there["description"] == "d" * 12_000


def test_a_nameless_page_is_taken_off_sale(sandbox: Sandbox) -> None:
    page = sandbox.add_page(name="x", slug="tea", amount=1)
    sandbox.state.change_page(page["id"], {"name": ""})
    sync_pages()
    set_active(PaymentPage.objects.get(), active=False)
    there = sandbox.state.pages()[0]
    assert (there["name"], there["active"]) == ("", False)


@pytest.mark.parametrize("name", [None, 5, ["Tea"]])
def test_where_no_name_can_be_sent_nothing_is_and_it_is_said(
    sandbox: Sandbox, staff: Client, name: Any
) -> None:
    page = sandbox.add_page(name="x", slug="tea", amount=1)
    sandbox.state.change_page(page["id"], {"name": name})
    sync_pages()
    response = staff.post(
        LIST,
        {
            "action": "deactivate_pages",
            "_selected_action": PaymentPage.objects.get().pk,
            "confirmed": "1",
        },
    )
    assert "says no name of this page" in text(response)
    assert sandbox.calls("PUT", f"/page/{page['id']}") == 0


def test_a_text_that_may_be_cut_is_not_sent_back(sandbox: Sandbox, staff: Client) -> None:
    """(D25)"""
    page = sandbox.add_page(name="x", slug="tea", amount=1)
    sandbox.state.change_page(page["id"], {"name": "n" * 400, "description": "d" * 12_000})
    sync_pages()
    sandbox.set_page("tea", name="Tea", description="12 bags", amount=2)
    sync_pages()
    row = PaymentPage.objects.get()
    shown = text(staff.get(change_url(row)))
    assert shown.count("may not be whole here") == 2
    send_local_back(row)
    there = sandbox.state.pages()[0]
    assert (there["name"], there["description"], there["amount"]) == ("Tea", "12 bags", 1)
