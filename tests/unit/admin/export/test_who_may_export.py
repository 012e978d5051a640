"""Who may export, what of the payers they get, and the line in the audit trail."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from payments_pages.models import Transaction
from payments_pages.staff.export.payments import CUSTOMER_COLUMNS
from tests.unit.admin.export.downloads import (
    EXPORT,
    TRANSACTIONS,
    download,
    person,
    rows_of,
)
from tests.unit.admin.payments import NOOR, paid

pytestmark = pytest.mark.django_db


def test_it_needs_a_post_the_permission_and_a_token(staff: Client) -> None:
    assert staff.get(EXPORT).status_code == 405
    assert person("view_transaction").post(EXPORT).status_code == 403
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(User.objects.get(username="staff"))
    assert careful.post(EXPORT).status_code == 403
    assert Client().post(EXPORT).status_code == 302
    assert not LogEntry.objects.exists()


def test_who_may_export_but_not_look_gets_nothing() -> None:
    assert person("export_transaction").post(EXPORT).status_code == 403


def test_without_the_permission_customers_are_masked() -> None:
    paid()
    clerk = person("view_transaction", "export_transaction")
    (line,) = download(clerk)
    assert {name: line[name] for name in (*CUSTOMER_COLUMNS, "answers")} == {
        "customer_email": "n•••@example.com",
        "customer_name": "N. H.",
        "customer_phone": "•••67",
        "card_brand": "•••",
        "card_last4": "•••",
        "ip_address": "•••",
        "answers": "•••",
    }
    response = clerk.post(
        TRANSACTIONS,
        {"action": "export_selected", "_selected_action": [Transaction.objects.get().pk]},
    )
    assert rows_of(b"".join(response.streaming_content)) == [line]
    user = User.objects.get(username="person")
    user.user_permissions.add(Permission.objects.get(codename="view_customer_details"))
    (line,) = download(clerk)
    assert line["customer_email"] == NOOR["email"]


def test_a_hidden_field_cannot_be_filtered_by_in_an_export() -> None:
    paid()
    clerk = person("view_transaction", "export_transaction")
    assert clerk.post(EXPORT + "?customer_email__startswith=n").status_code == 400
    assert download(clerk, "?q=noor.haddad@example.com") == []


def test_each_export_is_in_the_audit_trail_before_its_first_row(staff: Client) -> None:
    paid()
    staff.post(EXPORT + "?currency=ILS&status=success&p=1")
    staff.post(EXPORT + "?q=someone@example.com")
    staff.post(EXPORT)
    said = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    file_name = f"transactions-{timezone.localdate()}.csv"
    filtered = "Added export of filtered payments, with customers' details"
    assert said == [
        f"{filtered} “currency=ILS, status=success”.",
        f"{filtered} “q=…”.",
        f"Added export of all payments, with customers' details “{file_name}”.",
    ]
    entry = LogEntry.objects.latest("pk")
    assert (entry.user.get_username(), str(entry.content_type.model)) == ("staff", "transaction")
    assert staff.get(reverse("admin:index")).status_code == 200


def test_a_masked_export_says_so_in_the_audit_trail() -> None:
    paid()
    download(person("view_transaction", "export_transaction"))
    assert "details masked" in LogEntry.objects.get().change_message
