"""A form that was opened before the page changed at the service overwrites nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import (
    change_url,
    fields_of,
    made,
    open_form,
    rows,
    sent,
    text,
)

pytestmark = pytest.mark.django_db


def test_only_what_was_typed_is_sent_and_the_trail_names_it(
    staff: Client, sandbox: Sandbox
) -> None:
    page = made(staff, description="two\nlines")
    form = open_form(staff, page)
    # A browser sends each line break as two characters: that is no change.
    form["description"] = form["description"].replace("\n", "\r\n")
    assert staff.post(change_url(page), {**form, "amount": "120.00"}).status_code == 302
    assert sent(sandbox, "PUT") == [{"name": "Tea box", "amount": 12000}]
    entry = LogEntry.objects.latest("pk")
    assert "amount" in entry.get_change_message()
    assert "description" not in entry.get_change_message()


def test_saving_what_nobody_changed_sends_nothing(staff: Client, sandbox: Sandbox) -> None:
    page = made(staff)
    assert staff.post(change_url(page), open_form(staff, page)).status_code == 302
    assert sent(sandbox, "PUT") == []
    assert LogEntry.objects.latest("pk").get_change_message() == "No fields changed."


def test_a_form_older_than_the_page_at_the_service_is_refused_with_both_versions(
    staff: Client, sandbox: Sandbox
) -> None:
    page = made(staff, description="12 bags")
    form = open_form(staff, page)
    sandbox.set_page("tea-box", name="شاي", amount=15000)
    response = staff.post(change_url(page), {**form, "amount": "120", "description": "24 bags"})
    assert response.status_code == 200
    assert sent(sandbox, "PUT") == []
    table = _versions(response)
    assert table == {
        "name": ["Tea box", "شاي changed", "شاي"],
        "description": ["12 bags", "12 bags", "24 bags typed by you"],
        "amount": ["100.00 ILS", "150.00 ILS changed", "120.00 ILS typed by you"],
    }
    page.refresh_from_db()
    assert (page.name, page.amount) == ("شاي", 15000), "the mirror follows the service"
    assert page.drift == {"name": "Tea box", "amount": 10000}
    # What nobody typed in has followed; saving again sends what was typed, and nothing else.
    again = fields_of(response)
    assert (again["name"], again["amount"], again["description"]) == ("شاي", "120", "24 bags")
    assert staff.post(change_url(page), again).status_code == 302
    assert sent(sandbox, "PUT") == [{"name": "شاي", "amount": 12000, "description": "24 bags"}]
    page.refresh_from_db()
    assert page.drift == {"name": "Tea box"}, "what was sent is ours again"


def _versions(response: Any) -> dict[str, list[str]]:
    shown = text(response)
    shown = shown[shown.index('id="pp-versions"') :]
    return {row[0]: row[1:] for row in list(rows(shown))[1:]}


def test_two_people_do_not_overwrite_each_other(
    staff: Client, person: Callable[..., Client], sandbox: Sandbox
) -> None:
    page = made(staff)
    other = person("change_paymentpage")
    mine, theirs = open_form(staff, page), open_form(other, page)
    assert other.post(change_url(page), {**theirs, "name": "Green tea"}).status_code == 302
    response = staff.post(change_url(page), {**mine, "name": "Black tea"})
    assert _versions(response) == {
        "name": ["Tea box", "Green tea changed", "Black tea typed by you"]
    }
    assert sent(sandbox, "PUT") == [{"name": "Green tea"}]
    page.refresh_from_db()
    assert (page.name, page.drift) == ("Green tea", {}), "it was changed here, not behind our back"
    assert staff.post(change_url(page), fields_of(response)).status_code == 302
    assert sent(sandbox, "PUT")[1:] == [{"name": "Black tea"}]


def test_a_page_that_was_switched_off_meanwhile_is_not_switched_on_again(
    staff: Client, sandbox: Sandbox
) -> None:
    page = made(staff)
    form = open_form(staff, page)
    assert form["active"] == "on"
    sandbox.set_page("tea-box", active=False)
    response = staff.post(change_url(page), {**form, "name": "Green tea"})
    again = fields_of(response)
    assert "active" not in again
    staff.post(change_url(page), again)
    assert sent(sandbox, "PUT") == [{"name": "Green tea"}]
    page.refresh_from_db()
    assert page.active is False


def test_a_form_whose_memory_was_meddled_with_is_compared_with_the_mirror(
    staff: Client, sandbox: Sandbox
) -> None:
    page = made(staff)
    form = open_form(staff, page)
    sandbox.set_page("tea-box", name="Elsewhere")
    for opened in ("", "x", form["opened"][:-2]):
        PaymentPage.objects.update(name="Tea box", drift={})
        response = staff.post(change_url(page), {**form, "opened": opened, "amount": "120"})
        assert response.status_code == 200
        assert sent(sandbox, "PUT") == []


def test_a_page_that_is_gone_at_the_service_is_told_and_marked(
    staff: Client, sandbox: Sandbox
) -> None:
    page = made(staff)
    form = open_form(staff, page)
    sandbox.faults.add(operation="fetch", kind="status", status=404)
    response = staff.post(change_url(page), {**form, "name": "Green tea"})
    assert "does not have this page any more" in text(response)
    page.refresh_from_db()
    assert page.missing_since is not None
    assert page.name == "Tea box"


@pytest.mark.parametrize(
    "fault",
    [{"kind": "status", "status": 503}, {"kind": "drop"}, {"kind": "html"}, {"kind": "redirect"}],
    ids=lambda fault: str(fault["kind"]),
)
def test_without_an_answer_nothing_is_sent_and_what_was_typed_stays(
    staff: Client, sandbox: Sandbox, fault: dict[str, Any]
) -> None:
    page = made(staff)
    form = open_form(staff, page)
    sandbox.faults.add(operation="fetch", **fault)
    response = staff.post(change_url(page), {**form, "name": "Green tea"})
    assert response.status_code == 200
    assert fields_of(response)["name"] == "Green tea"
    assert sent(sandbox, "PUT") == []
    page.refresh_from_db()
    assert page.name == "Tea box"


def test_a_refused_form_shows_the_page_as_it_is_and_the_fields_as_they_were_typed(
    staff: Client, sandbox: Sandbox
) -> None:
    page = made(staff)
    form = open_form(staff, page)
    form.pop("active")
    sandbox.faults.add(operation="update", kind="status", status=422)
    response = staff.post(change_url(page), form)
    assert "active" not in fields_of(response)
    shown = text(response)
    assert "✓</span> active" in shown
    assert "○</span> inactive" not in shown


def test_a_page_of_the_other_mode_is_not_changed_from_here(staff: Client, sandbox: Sandbox) -> None:
    page = made(staff)
    PaymentPage.objects.update(domain="live")
    calls = len(sandbox.requests)
    response = staff.post(change_url(page), {**open_form(staff, page), "name": "Green tea"})
    assert "belongs to the other mode" in text(response)
    assert len(sandbox.requests) == calls


def test_saving_finishes_a_creation_that_was_not_confirmed(staff: Client, sandbox: Sandbox) -> None:
    page = made(staff)
    PaymentPage.objects.update(remote_id=None)
    response = staff.get(change_url(page))
    assert "has not confirmed this page" in text(response)
    assert staff.post(change_url(page), fields_of(response)).status_code == 302
    page.refresh_from_db()
    assert page.remote_id is not None
    assert len(sent(sandbox, "POST")) == 1
