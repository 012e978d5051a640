"""The export: all that the list shows, in constant memory, safe to open in a spreadsheet."""

import csv
import datetime as dt
import gc
import io
import itertools
import logging
import re
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.staff import write_csv
from payments_pages.staff.export import CHUNK, COLUMNS, CUSTOMER_COLUMNS, INCOMPLETE, neutralise
from tests.unit.admin.payments import CARD, NOOR, days_ago, many, paid

pytestmark = pytest.mark.django_db

TRANSACTIONS = "/admin/payments_pages/transaction/"
EXPORT = TRANSACTIONS + "export/"
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff"))
    return client


def person(*codenames: str) -> Client:
    user = User.objects.create_user("person", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def rows_of(content: bytes) -> list[dict[str, str]]:
    assert content.startswith(BOM)
    return list(csv.DictReader(io.StringIO(content.removeprefix(BOM).decode(), newline="")))


def download(client: Client, query: str = "") -> list[dict[str, str]]:
    response = client.post(EXPORT + query)
    assert response.status_code == 200
    assert isinstance(response, StreamingHttpResponse)
    return rows_of(b"".join(response.streaming_content))


def written(**options: Any) -> list[dict[str, str]]:
    return rows_of(b"".join(write_csv(Transaction.objects.all(), **options)))


# The file


def test_the_file_is_what_spreadsheets_expect(staff: Client) -> None:
    paid(reference="T-1")
    response = staff.post(EXPORT)
    content = b"".join(response.streaming_content)
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(
        r'attachment; filename="transactions-\d{4}-\d\d-\d\d\.csv"', response["Content-Disposition"]
    )
    assert {"no-store", "private"} <= set(response["Cache-Control"].split(", "))
    assert response["X-Accel-Buffering"] == "no"
    assert content.startswith(BOM + b"reference,status,")
    assert content.count(b"\r\n") == 2
    assert content.endswith(b"\r\n")
    assert b"\n" not in content.replace(b"\r\n", b"")


def test_a_row_says_all_about_a_payment_but_nothing_of_its_card(
    tea_box: PaymentPage,
) -> None:
    moment = dt.datetime(2026, 11, 27, 19, 5, 7, 250_000, tzinfo=dt.UTC)
    row = paid(reference="T-1", page=tea_box, amount=12345, currency="JOD", fees=7, paid_at=moment,
               created_at=None, verified_at=moment)  # fmt: skip
    Fulfilment.objects.create(
        transaction=row, reference_key=row.reference_key, state="delivered", delivered_at=moment
    )
    (line,) = written(customers_shown=True)
    local = "2026-11-27T21:05:07+02:00"
    assert line == {
        "reference": "T-1",
        "status": "success",
        "fulfilment": "delivered",
        "reason": "",
        "amount_minor": "12345",
        "amount": "123.45",
        "currency": "JOD",
        "fees_minor": "7",
        "fees": "0.07",
        "channel": "card",
        "mode": "test",
        "page_slug": "tea-box",
        "page_name": "Tea box",
        "paid_at": local,
        "created_at": "",
        "verified_at": local,
        "delivered_at": local,
        "customer_email": "noor.haddad@example.com",
        "customer_name": "Noor Haddad",
        "customer_phone": "'+970 59 123 4567",
        "ip_address": "203.0.113.77",
    }
    assert tuple(line) == COLUMNS
    for secret in (CARD["last4"], CARD["bank"], NOOR["customer_code"], "Shirt"):
        assert secret not in "".join(line.values())


def test_a_payment_that_went_the_whole_path_is_exported_as_it_stands(
    tea_box: PaymentPage, sandbox: Sandbox, transactional_db: None
) -> None:
    reference = sandbox.pay("tea-box", amount=9999)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    (line,) = written()
    assert (line["reference"], line["amount"], line["currency"]) == (reference, "99.99", "ILS")
    assert (line["fulfilment"], line["reason"]) == ("held", "amount_mismatch")


def test_a_currency_nobody_knows_and_an_amount_nobody_can_read_are_left_empty() -> None:
    paid(amount=500, currency="KWD", fees=None)
    paid(amount=None, currency="ILS")
    paid(amount=-5, currency="ils", fees=-1)
    lines = {line["currency"]: line for line in written()}
    assert (lines["KWD"]["amount_minor"], lines["KWD"]["amount"]) == ("500", "")
    assert (lines["KWD"]["fees_minor"], lines["KWD"]["fees"]) == ("", "")
    assert (lines["ILS"]["amount_minor"], lines["ILS"]["amount"]) == ("", "")
    # Our own figures stay figures: a spreadsheet must add them up.
    assert (lines["ils"]["amount_minor"], lines["ils"]["amount"]) == ("-5", "-0.05")
    assert lines["ils"]["fees"] == "-0.01"


def test_arabic_and_hebrew_come_through(tea_box: PaymentPage) -> None:
    PaymentPage.objects.update(name="علبة شاي")
    paid(page=tea_box, customer={"first_name": "נור", "last_name": "حداد"})
    (line,) = written(customers_shown=True)
    assert line["page_name"] == "علبة شاي"
    assert line["customer_name"] == "נור حداد"


@pytest.mark.parametrize(
    "customer",
    [{}, {"first_name": None, "phone": None}, {"first_name": ["x"], "phone": True}, [], 7],
)
def test_a_customer_of_any_shape_exports(customer: Any) -> None:
    paid(customer=customer)
    (line,) = written(customers_shown=True)
    assert (line["customer_name"], line["customer_phone"]) == ("", "")


def test_a_phone_that_is_a_number_is_exported() -> None:
    paid(customer={"phone": 970591234567})
    assert written(customers_shown=True)[0]["customer_phone"] == "970591234567"


# Formulas


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("\nx", "'\nx"),
        ("\uff1d1", "'\uff1d1"),
        ("\uff0b1", "'\uff0b1"),
        ("\uff0d1", "'\uff0d1"),
        ("\uff20x", "'\uff20x"),
        ("  =1", "'  =1"),
        ("\u00a0=1", "'\u00a0=1"),
        ("\u200f=1", "'\u200f=1"),
        ("\ufeff=1", "'\ufeff=1"),
        ('"=1', "'\"=1"),
        ("\t=1", "'\t'=1"),
        # A spreadsheet that splits at semicolons or lines begins a cell there.
        ("a;=cmd|' /c calc'!A1", "a;'=cmd|' /c calc'!A1"),
        ("a\r\n=1", "a\r\n'=1"),
        ("a; @x", "a;' @x"),
        ("", ""),
        ("a=b", "a=b"),
        ("noor@example.com", "noor@example.com"),
        ("علبة", "علبة"),
        ("a;b", "a;b"),
    ],
)  # fmt: skip
def test_c51_what_a_spreadsheet_would_run_is_neutralised(text: str, safe: str) -> None:
    assert neutralise(text) == safe


def test_c51_no_cell_that_others_wrote_begins_a_formula(tea_box: PaymentPage) -> None:
    evil = '=HYPERLINK("http://evil.example","x")'
    PaymentPage.objects.update(name=evil, slug="-evil")
    paid(
        page=tea_box,
        reference="=1",
        status="@x",
        currency="+X",
        channel="-x",
        domain="=live",
        customer_email="=cmd@evil.example",
        customer={"first_name": "=1", "last_name": "+2", "phone": "+970"},
        ip_address="@::1",
    )
    for shown in (True, False):
        (line,) = written(customers_shown=shown)
        for name, value in line.items():
            if name not in {"amount_minor", "fees_minor", "amount", "fees"}:
                assert value[:1] not in set("=+-@\t\r\n"), name


# Which rows


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
    (url,) = re.findall(r'<form method="post" action="([^"]+)"', page)
    assert url == EXPORT + "?currency=JOD&amp;status=success"
    lines = download(staff, url.removeprefix(EXPORT).replace("&amp;", "&"))
    assert [line["currency"] for line in lines] == ["JOD"]


def test_a_total_exports_as_what_it_counts(staff: Client) -> None:
    for days in (0, 2, 9):
        paid(amount=111, paid_at=days_ago(days))
    page = staff.get(TRANSACTIONS).content.decode()
    cell = page.split('<div class="pp-totals-figures">')[1].split("<td>")[2]
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
    monkeypatch.setattr("payments_pages.staff.export.CHUNK", 7)
    for count in (0, 1, 6, 7, 8, 14, 21):
        Transaction.objects.all().delete()
        many(count)
        pks = Transaction.objects.order_by("-pk").values_list("reference", flat=True)
        assert [line["reference"] for line in written()] == list(pks)


def test_what_comes_during_an_export_neither_doubles_nor_displaces_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("payments_pages.staff.export.CHUNK", 3)
    many(7)
    before = list(Transaction.objects.order_by("-pk").values_list("reference", flat=True))
    pieces = []
    for piece in write_csv(Transaction.objects.all()):
        pieces.append(piece)
        if len(pieces) > 1:  # the first piece is the header: nothing has been read by then
            paid()
    assert [line["reference"] for line in rows_of(b"".join(pieces))] == before


def test_each_chunk_is_one_query_that_goes_on_by_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("payments_pages.staff.export.CHUNK", 10)
    many(25)
    with CaptureQueriesContext(connection) as queries:
        written()
    assert len(queries) == 3
    assert all("LIMIT 10" in query["sql"] for query in queries)
    assert not any("OFFSET" in query["sql"] for query in queries)


# Memory


def peak(pieces: Iterable[bytes]) -> int:
    """The most memory, in bytes, that reading it all took on top of what was there."""
    gc.collect()
    tracemalloc.start()
    try:
        for _piece in pieces:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("payments_pages.staff.export.CHUNK", 200)
    many(600)
    few = peak(write_csv(Transaction.objects.all(), customers_shown=True))
    many(3000)
    lots = peak(write_csv(Transaction.objects.all(), customers_shown=True))
    assert lots < few * 1.2
    # The measure can fail: a file that is collected first grows with its rows.
    collected = peak(map(b"".join, [write_csv(Transaction.objects.all(), customers_shown=True)]))
    assert collected > few * 1.5


def test_the_first_rows_leave_before_the_last_are_read(staff: Client) -> None:
    many(2 * CHUNK + 1)
    with CaptureQueriesContext(connection) as queries:
        pieces = iter(staff.post(EXPORT).streaming_content)
        list(itertools.islice(pieces, 2))
        reads = [query for query in queries if f"LIMIT {CHUNK}" in query["sql"]]
        assert len(reads) == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_under_asgi_it_is_streamed_too() -> None:
    from asgiref.sync import async_to_sync

    many(2 * CHUNK + 1)
    user = User.objects.create_superuser("staff")

    async def read() -> list[bytes]:
        client = AsyncClient()
        await client.aforce_login(user)
        response = await client.post(EXPORT)
        assert response.is_async
        return [piece async for piece in response.streaming_content]

    pieces = async_to_sync(read)()
    assert len(pieces) == 1 + 3
    assert len(rows_of(b"".join(pieces))) == 2 * CHUNK + 1


# What goes wrong


def test_an_export_that_breaks_off_says_so_in_its_last_row_and_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("payments_pages.staff.export.CHUNK", 5)
    many(12)
    statements = itertools.count()

    def fail(execute: Any, sql: str, *arguments: Any) -> Any:
        if next(statements) == 2:
            raise ConnectionResetError("the server went away")
        return execute(sql, *arguments)

    pieces: list[bytes] = []
    with connection.execute_wrapper(fail), pytest.raises(ConnectionResetError):
        pieces.extend(write_csv(Transaction.objects.all()))
    lines = b"".join(pieces).decode().splitlines()
    assert len(lines) == 1 + 10 + 1
    assert lines[-1] == INCOMPLETE
    (record,) = [r for r in caplog.records if r.message.startswith("export.broke_off")]
    assert record.levelno == logging.ERROR
    assert record.error == "ConnectionResetError"  # type: ignore[attr-defined]


def test_a_download_that_the_person_cancels_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    many(3)
    pieces = write_csv(Transaction.objects.all())
    assert isinstance(pieces, Iterator)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert not [r for r in caplog.records if "export" in r.name]


# Who, and what of the payer


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
    assert {name: line[name] for name in CUSTOMER_COLUMNS} == {
        "customer_email": "n•••@example.com",
        "customer_name": "N. H.",
        "customer_phone": "•••67",
        "ip_address": "•••",
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
    said = list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True))
    assert said == [
        "Exported, with customers' details: currency=ILS, status=success",
        "Exported, with customers' details: q=…",
        "Exported, with customers' details: all payments",
    ]
    entry = LogEntry.objects.latest("pk")
    assert (entry.user.get_username(), str(entry.content_type.model)) == ("staff", "transaction")
    assert staff.get(reverse("admin:index")).status_code == 200


def test_a_masked_export_says_so_in_the_audit_trail() -> None:
    paid()
    download(person("view_transaction", "export_transaction"))
    assert "details masked" in LogEntry.objects.get().change_message


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_rows_leave(staff: Client) -> None:
    before = connection.settings_dict["ATOMIC_REQUESTS"]
    connection.settings_dict["ATOMIC_REQUESTS"] = True
    try:
        many(2)
        response = staff.post(EXPORT)
        assert not connection.in_atomic_block
        assert len(rows_of(b"".join(response.streaming_content))) == 2
    finally:
        connection.settings_dict["ATOMIC_REQUESTS"] = before
