"""Below the search box stands what the payments that were found come to."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from payments_pages.admin import lists
from payments_pages.models import PaymentPage
from tests.unit.admin.payments import paid

pytestmark = pytest.mark.django_db

LIST = "/admin/payments_pages/transaction/"


@pytest.fixture
def oud() -> PaymentPage:
    return PaymentPage.objects.create(remote_id=1, name="Oud", slug_key="oud", domain="test")


def said(client: Client, **query: Any) -> str:
    page = client.get(LIST, query).content.decode()
    found = re.search(r'<p class="pp-sum">(.*?)</p>', page, re.S)
    text = re.sub(r"<[^>]+>", "", found[1]) if found else ""
    return " ".join(text.replace("\u00a0", " ").split())


def test_each_currency_is_added_up_by_itself(staff: Client, oud: PaymentPage) -> None:
    paid(amount=80_000, page=oud)
    paid(amount=300, page=oud)
    paid(amount=3_750, currency="jod", page=oud)
    paid(amount=1)
    shown = said(staff, page__id__exact=oud.pk)
    assert shown == "Sum of these: 803.00 ILS · 37.50 JOD"


def test_only_what_was_paid_is_added_and_that_is_said(staff: Client, oud: PaymentPage) -> None:
    paid(amount=100, page=oud)
    for status in ("failed", "reversed", "pending"):
        paid(amount=10_000, status=status, page=oud)
    assert said(staff, page__id__exact=oud.pk) == "Sum of the successful ones: 1.00 ILS"
    assert said(staff, status="failed") == ""


def test_test_and_live_money_are_never_added_together(staff: Client, oud: PaymentPage) -> None:
    paid(amount=100, page=oud)
    paid(amount=200, page=oud, domain="live")
    assert said(staff, page__id__exact=oud.pk) == "Sum of these: 1.00 ILS (test) · 2.00 ILS (live)"
    assert said(staff, domain="live") == "Sum of these: 2.00 ILS (live)"
    assert said(staff, domain="test") == "Sum of these: 1.00 ILS"


def test_what_cannot_be_added_is_counted(staff: Client, oud: PaymentPage) -> None:
    paid(amount=100, page=oud)
    paid(amount=None, page=oud)
    paid(amount=5, currency="EUR", page=oud)
    shown = said(staff, page__id__exact=oud.pk)
    assert shown == "Sum of the successful ones: 1.00 ILS · 2 payments could not be added"


def test_the_whole_list_has_its_totals_and_no_sum(staff: Client) -> None:
    paid()
    assert said(staff) == ""


def test_a_search_is_added_up(staff: Client) -> None:
    paid(amount=100, customer_email="one@example.test")
    paid(amount=200, customer_email="one@example.test")
    paid(amount=400)
    assert said(staff, q="one@") == "Sum of these: 3.00 ILS"


def test_all_pages_of_a_list_are_in_its_sum(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists.ListAdmin, "list_per_page", 2)
    for amount in (1, 2, 4):
        paid(amount=amount)
    assert said(staff, status="success") == "Sum of these: 0.07 ILS"
    assert said(staff, status="success", p=2) == "Sum of these: 0.07 ILS"


def test_a_list_too_long_to_count_has_no_sum(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "CAP", 2)
    for amount in (1, 2):
        paid(amount=amount)
    assert said(staff, status="success") == "Sum of these: 0.03 ILS"
    paid(amount=4)
    assert said(staff, status="success") == ""


def test_a_sum_costs_one_query(staff: Client) -> None:
    paid()
    paid(currency="JOD")
    with CaptureQueriesContext(connection) as queries:
        said(staff, q="noor")
    taken = [query["sql"] for query in queries if "SUM(" in query["sql"].upper()]
    assert len(taken) == 1
    assert "LIMIT" in taken[0]


def test_a_sum_that_no_database_can_hold_does_not_take_the_list_away(staff: Client) -> None:
    paid(reference="T-1", amount=2**63 - 1)
    paid(reference="T-2", amount=2**63 - 1)
    page = staff.get(LIST, {"status": "success"}).content.decode()
    assert "T-1" in page
    if connection.vendor != "sqlite":
        assert "184,467,440,737,095,516.14" in said(staff, status="success")
