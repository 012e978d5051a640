"""Which payments are exported: all that the list shows, each once."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from payments_pages.models import Transaction
from payments_pages.staff import write_csv
from tests.unit.admin.export.downloads import (
    EXPORT,
    TRANSACTIONS,
    download,
    rows_of,
    written,
)
from tests.unit.admin.payments import days_ago, many, paid

pytestmark = pytest.mark.django_db


def test_it_exports_what_the_filters_show_on_all_pages(staff: Client) -> None:
    many(150, currency="JOD")
    many(20, currency="ILS")
    paid(currency="JOD", status="failed")
    assert len(download(staff, "?currency=JOD&status=success")) == 150
    assert len(download(staff, "?currency=JOD&p=2&o=1")) == 151
    assert len(download(staff)) == 171


def test_the_button_carries_the_filters_of_the_list(staff: Client) -> None:
    paid(currency="JOD")
    paid(currency="ILS")
    page = staff.get(TRANSACTIONS + "?currency=JOD&status=success").content.decode()
    url, workbook_url = re.findall(r'<form method="post" action="([^"]+)"', page)
    assert url == EXPORT + "?currency=JOD&amp;status=success"
    assert workbook_url == EXPORT + "xlsx/?currency=JOD&amp;status=success"
    lines = download(staff, url.removeprefix(EXPORT).replace("&amp;", "&"))
    assert [line["currency"] for line in lines] == ["JOD"]


def test_a_total_exports_as_what_it_counts(staff: Client) -> None:
    for days in (0, 2, 9):
        paid(amount=111, paid_at=days_ago(days))
    page = staff.get(TRANSACTIONS).content.decode()
    cell = page.split('<div class="pp-totals-figures"')[1].split("<td>")[2]
    query = re.findall(r'href="[^"?]+(\?[^"]+)"', cell)[0].replace("&amp;", "&")
    assert len(download(staff, query)) == 2


def test_a_search_exports_what_it_found(staff: Client) -> None:
    paid(customer_email="someone@example.com")
    paid()
    lines = download(staff, "?q=someone")
    assert [line["customer_email"] for line in lines] == ["someone@example.com"]


def test_ticked_rows_alone_are_exported_by_the_action(staff: Client) -> None:
    first, _second, third = paid(), paid(), paid()
    response = staff.post(
        TRANSACTIONS, {"action": "export_selected", "_selected_action": [first.pk, third.pk]}
    )
    lines = rows_of(b"".join(response.streaming_content))
    assert [line["reference"] for line in lines] == [third.reference, first.reference]


def test_a_filter_without_sense_leads_back_to_the_list(staff: Client) -> None:
    response = staff.post(EXPORT + "?paid_at__gte=yesterday")
    assert response.status_code == 302
    assert response["Location"] == TRANSACTIONS + "?e=1"
    assert not LogEntry.objects.exists()


def test_more_rows_than_a_list_pages_through_are_exported(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payments_pages.admin.lists.CAP", 10)
    many(25)
    assert len(download(staff)) == 25


def test_no_row_is_left_out_or_doubled_where_one_chunk_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("payments_pages.staff.export.payments.CHUNK", 7)
    for count in (0, 1, 6, 7, 8, 14, 21):
        Transaction.objects.all().delete()
        many(count)
        pks = Transaction.objects.order_by("-pk").values_list("reference", flat=True)
        assert [line["reference"] for line in written()] == list(pks)


def test_what_comes_during_an_export_neither_doubles_nor_displaces_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("payments_pages.staff.export.payments.CHUNK", 3)
    many(7)
    before = list(Transaction.objects.order_by("-pk").values_list("reference", flat=True))
    pieces = []
    for piece in write_csv(Transaction.objects.all()):
        pieces.append(piece)
        if len(pieces) > 1:  # the first piece is the header: nothing has been read by then
            paid()
    assert [line["reference"] for line in rows_of(b"".join(pieces))] == before


def test_each_chunk_is_one_query_that_goes_on_by_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("payments_pages.staff.export.payments.CHUNK", 10)
    many(25)
    with CaptureQueriesContext(connection) as queries:
        written()
    assert len(queries) == 3
    assert all("LIMIT 10" in query["sql"] for query in queries)
    assert not any("OFFSET" in query["sql"] for query in queries)
