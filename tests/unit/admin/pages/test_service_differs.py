"""What the service does otherwise than it was asked is said to staff, with both values (W2)."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.pages_admin import LIST, add, change_url, made, open_form, text

pytestmark = pytest.mark.django_db


def told(client: Client) -> str:
    return " ".join(str(message) for message in client.get(LIST).context["messages"])


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ({"slug": "tea-box-2"}, "slug “tea-box”; the service has “tea-box-2”"),
        ({"name": "TEA BOX"}, "name “Tea box”; the service has “TEA BOX”"),
        ({"description": "12"}, "description “12 bags”; the service has “12”"),
        ({"amount": 9900}, "amount “100.00\u00a0ILS”; the service has “99.00\u00a0ILS”"),
        ({"amount": None}, "amount “100.00\u00a0ILS”; the service has “payer chooses”"),
        ({"active": False}, "active “yes”; the service has “no”"),
    ],
)
def test_a_creation_that_went_otherwise_is_a_warning(
    staff: Client, sandbox: Sandbox, patch: dict[str, Any], said: str
) -> None:
    sandbox.faults.add(operation="create", kind="patch", data=patch, times=1)
    assert add(staff, description="12 bags").status_code == 302
    message = told(staff)
    assert said in message
    assert f"{sandbox.pay_url}/{patch.get('slug', 'tea-box')}" in message
    page = PaymentPage.objects.get()
    assert all(getattr(page, name) == value for name, value in patch.items())


def test_a_creation_that_went_as_asked_is_no_warning(staff: Client, sandbox: Sandbox) -> None:
    assert add(staff, description="12 bags").status_code == 302
    assert "asked for" not in told(staff)


def test_a_page_that_is_adopted_is_compared_with_what_was_typed_now(
    staff: Client, sandbox: Sandbox, configure: Any
) -> None:
    configure(DEADLINE=0.5)
    sandbox.faults.add(operation="create", kind="answer_lost", times=1)
    sandbox.faults.add(operation="fetch", kind="status", status=500, times=2)
    assert add(staff).status_code == 200
    configure(DEADLINE=8)
    assert add(staff, amount="120").status_code == 302
    assert "amount “120.00\u00a0ILS”; the service has “100.00\u00a0ILS”" in told(staff)


def test_a_change_that_was_taken_in_part_is_a_warning_and_in_the_audit_trail(
    staff: Client, sandbox: Sandbox
) -> None:
    page = made(staff)
    form = open_form(staff, page)
    for operation in ("update", "fetch"):
        skip = 1 if operation == "fetch" else 0
        sandbox.faults.add(operation=operation, kind="patch", data={"amount": 9900}, skip=skip)
    response = staff.post(change_url(page), {**form, "name": "Tea chest", "amount": "120"})
    assert response.status_code == 302, text(response)
    message = told(staff)
    assert "amount “120.00\u00a0ILS”; the service has “99.00\u00a0ILS”" in message
    assert f"{sandbox.pay_url}/tea-box" in message
    assert "name “" not in message
    assert "Changed name and amount." in str(LogEntry.objects.latest("pk"))


def test_a_change_that_was_not_taken_is_an_error_that_names_both(
    staff: Client, sandbox: Sandbox
) -> None:
    page = made(staff)
    form = open_form(staff, page)
    for operation in ("update", "fetch"):
        sandbox.faults.add(operation=operation, kind="patch", data={"name": "Tea box"})
    response = staff.post(change_url(page), {**form, "name": "Tea chest"})
    assert response.status_code == 200
    shown = text(response)
    assert "name “Tea chest”; the service has “Tea box”" in shown
    assert f"{sandbox.pay_url}/tea-box" in shown


def test_a_switch_that_was_not_taken_is_an_error_in_its_row(
    staff: Client, sandbox: Sandbox
) -> None:
    page = made(staff)
    for operation in ("update", "fetch"):
        sandbox.faults.add(operation=operation, kind="patch", data={"active": True})
    response = staff.post(
        LIST, {"action": "deactivate_pages", "_selected_action": page.pk, "confirmed": "1"}
    )
    assert "active “no”; the service has “yes”" in text(response)


def test_a_text_of_the_services_is_escaped(staff: Client, sandbox: Sandbox) -> None:
    sandbox.faults.add(operation="create", kind="patch", data={"name": "<b>x</b>"}, times=1)
    add(staff)
    shown = text(staff.get(LIST))
    assert "the service has “&lt;b&gt;x&lt;/b&gt;”" in shown


def test_a_long_text_that_was_kept_whole_is_no_warning(staff: Client, sandbox: Sandbox) -> None:
    """Our mirror cuts it; the service does not."""
    page = made(staff)
    form = open_form(staff, page)
    response = staff.post(change_url(page), {**form, "description": "d" * 12_000})
    assert response.status_code == 302, text(response)
    assert "asked for" not in told(staff)
    assert sandbox.state.pages()[0]["description"] == "d" * 12_000
