"""The workbook: the same rows as the CSV file, and each cell of the type that it should have."""

import datetime as dt
import gc
import io
import logging
import resource
import tempfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient, Client
from django.utils import timezone, translation
from xlsxwriter.exceptions import XlsxWriterException

from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.staff import reject, write_csv, write_workbook
from payments_pages.staff.export.payments import COLUMNS
from payments_pages.staff.export.workbook import LONGEST
from tests.unit.admin.export.downloads import TRANSACTIONS, person
from tests.unit.admin.payments import many, paid

pytestmark = pytest.mark.django_db

EXPORT = TRANSACTIONS + "export/xlsx/"
MOMENT = dt.datetime(2026, 11, 27, 19, 5, 7, 250_000, tzinfo=dt.UTC)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that temporary files are in."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def written(**options: Any) -> Any:
    with write_workbook(Transaction.objects.all(), **options) as file:
        return openpyxl.load_workbook(io.BytesIO(file.read()))


def rows_of(book: Any) -> Iterator[dict[str, Any]]:
    """The cells of all sheets, by the names of the columns."""
    for sheet in book.worksheets:
        names, *rows = sheet.iter_rows()
        for row in rows:
            yield dict(zip([cell.value for cell in names], row, strict=True))


def values_of(book: Any) -> list[dict[str, Any]]:
    return [{name: cell.value for name, cell in row.items()} for row in rows_of(book)]


# The cells


def test_each_cell_has_the_type_of_what_it_holds(tea_box: PaymentPage) -> None:
    PaymentPage.objects.update(custom_fields=[{"display_name": "Level", "variable_name": "l"}])
    tea_box.refresh_from_db()
    row = paid(reference="0123", page=tea_box, amount=12345, currency="JOD", fees=7,
               paid_at=MOMENT, created_at=None, verified_at=MOMENT,
               authorization={"brand": "visa", "last4": "0042"},
               metadata={"custom_fields": [{"variable_name": "l", "value": "0599"}, {"value": 5}]},
               )  # fmt: skip
    Fulfilment.objects.create(transaction=row, reference_key=row.reference_key, state="held")
    reject(Transaction.objects.select_related("fulfilment").get(), actor="nadia", note="=no")
    (cells,) = rows_of(written(customers_shown=True, page=tea_box))
    assert tuple(cells) == (*COLUMNS, "answer: Level", "answers")
    local = dt.datetime(2026, 11, 27, 21, 5, 7)  # noqa: DTZ001 - Excel has no offsets
    decided = cells.pop("decided_at")
    assert (decided.data_type, decided.number_format) == ("d", "yyyy-mm-dd hh:mm:ss")
    types = {name: (cell.data_type, cell.value) for name, cell in cells.items()}
    assert types == {
        "reference": ("s", "0123"),
        "status": ("s", "success"),
        "fulfilment": ("s", "rejected"),
        "reason": ("n", None),
        "amount_minor": ("n", 12345),
        "amount": ("n", 123.45),
        "currency": ("s", "JOD"),
        "fees_minor": ("n", 7),
        "fees": ("n", 0.07),
        "net_minor": ("n", 12338),
        "net": ("n", 123.38),
        "channel": ("s", "card"),
        "mode": ("s", "test"),
        "page_slug": ("s", "tea-box"),
        "page_name": ("s", "Tea box"),
        "paid_on": ("d", dt.datetime(2026, 11, 27)),  # noqa: DTZ001
        "paid_time": ("d", dt.time(21, 5, 7)),
        "paid_at": ("d", local),
        "created_at": ("n", None),
        "verified_at": ("d", local),
        "delivered_at": ("n", None),
        "money_back_at": ("n", None),
        "decision": ("s", "rejected"),
        "decided_by": ("s", "nadia"),
        "decision_note": ("s", "=no"),
        "customer_email": ("s", "noor.haddad@example.com"),
        "customer_name": ("s", "Noor Haddad"),
        "customer_phone": ("s", "+970 59 123 4567"),
        "card_brand": ("s", "visa"),
        "card_last4": ("s", "0042"),
        "ip_address": ("s", "203.0.113.77"),
        "answer: Level": ("s", "0599"),
        "answers": ("s", '{"#2": "5"}'),
    }
    formats = {name: cells[name].number_format for name in ("amount", "amount_minor", "paid_on")}
    assert formats == {"amount": "#,##0.00", "amount_minor": "0", "paid_on": "yyyy-mm-dd"}
    assert {cells[name].number_format for name in ("reference", "customer_phone")} == {"@"}


@pytest.mark.parametrize("amount", [1, 5, 10, 29, 110, 57_89, 2_675, 99_999_999_999_999, -5])
def test_an_amount_is_written_as_its_decimal_digits(amount: int) -> None:
    paid(amount=amount)
    with write_workbook(Transaction.objects.all()) as file, zipfile.ZipFile(file) as parts:
        sheet = parts.read("xl/worksheets/sheet1.xml").decode()
    assert f"<v>{Decimal(amount).scaleb(-2)}</v>" in sheet


def test_a_number_that_excel_cannot_keep_is_text() -> None:
    paid(amount=2**63 - 1)
    (row,) = values_of(written())
    assert row["amount"] == "92233720368547758.07"
    assert row["amount_minor"] == "9223372036854775807"


@pytest.mark.parametrize(("currency", "code"), [("JPY", "#,##0"), ("KWD", "#,##0.000")])
def test_an_amount_has_the_decimals_of_its_currency(
    currency: str, code: str, configure: Any
) -> None:
    configure(CURRENCIES={"JPY": 0, "KWD": 3})
    paid(amount=1500, currency=currency)
    (row,) = rows_of(written())
    assert row["amount"].number_format == code
    assert row["amount"].value == (1500 if currency == "JPY" else 1.5)


def test_of_a_currency_nobody_knows_the_minor_units_alone_are_written() -> None:
    paid(amount=500, currency="KWD")
    (row,) = values_of(written())
    assert (row["amount_minor"], row["amount"]) == (500, None)


def test_a_time_that_excel_does_not_know_is_text() -> None:
    paid(paid_at=dt.datetime(1871, 3, 1, 8, tzinfo=dt.UTC))
    (row,) = values_of(written())
    assert row["paid_on"] == "1871-03-01"
    assert row["paid_at"].startswith("1871-03-01T")


@pytest.mark.parametrize(
    "text",
    ["=1+1", '=HYPERLINK("http://evil.example")', "{=1}", "+1", "@x", "https://evil.example",
     "mailto:x@example.com", "internal:Sheet1!A1", "007", "TRUE", "_x0041_", "a\x01b",
     "<b>&amp;</b>", "two\nlines", " spaces ", "علبة شاي", "🍵"],
)  # fmt: skip
def test_c51_a_text_of_others_stays_exactly_that_text(text: str) -> None:
    paid(customer={"first_name": text.strip()}, authorization={"brand": "v", "last4": text})
    book = written(customers_shown=True)
    (row,) = rows_of(book)
    for name, value in (("card_last4", text), ("customer_name", text.strip())):
        assert (row[name].data_type, row[name].hyperlink) == ("s", None)
        assert openpyxl.utils.escape.unescape(row[name].value) == value


def test_a_text_longer_than_a_cell_ends_with_dots() -> None:
    paid(authorization={"last4": "x" * LONGEST})
    paid(authorization={"last4": "🍵" * LONGEST})
    paid(authorization={"last4": "x" * (LONGEST + 1)})
    longer, cut, whole = (row["card_last4"] for row in values_of(written(customers_shown=True)))
    assert whole == "x" * LONGEST
    assert longer == "x" * (LONGEST - 1) + "…"
    assert cut == "🍵" * ((LONGEST - 1) // 2) + "…"


def test_without_the_permission_payers_are_masked_in_both_exports(tea_box: PaymentPage) -> None:
    PaymentPage.objects.update(custom_fields=[{"display_name": "Level", "variable_name": "l"}])
    paid(page=tea_box, metadata={"custom_fields": [{"variable_name": "l", "value": "B2"}]})
    clerk = person("view_transaction", "export_transaction")
    query = f"?page__id__exact={tea_box.pk}"
    answer = clerk.post(EXPORT + query)
    content = b"".join(answer.streaming_content)
    (row,) = values_of(openpyxl.load_workbook(io.BytesIO(content)))
    masked = {name: row[name] for name in list(row)[list(row).index("customer_email") :]}
    assert masked == {
        "customer_email": "n•••@example.com",
        "customer_name": "N. H.",
        "customer_phone": "•••67",
        "card_brand": "•••",
        "card_last4": "•••",
        "ip_address": "•••",
        "answer: Level": "•••",
        "answers": None,
    }
    assert "details masked" in LogEntry.objects.get().change_message


# The sheets


def test_the_first_row_names_the_columns_and_stays_in_sight() -> None:
    paid()
    (sheet,) = written().worksheets
    assert sheet.freeze_panes == "B2"
    assert [cell.value for cell in sheet[1]] == [*COLUMNS, "answers"]
    assert all(cell.font.bold for cell in sheet[1])
    widths = [sheet.column_dimensions[cell.column_letter].width for cell in sheet[1]]
    assert min(widths) >= 9


def test_without_payments_there_is_a_sheet_with_the_columns() -> None:
    (sheet,) = written().worksheets
    assert (sheet.max_row, sheet["A1"].value) == (1, "reference")


@pytest.mark.parametrize(("language", "right"), [("ar", True), ("he", True), ("en", None)])
def test_in_arabic_and_hebrew_sheets_are_read_from_the_right(
    language: str, right: bool | None
) -> None:
    with translation.override(language):
        (sheet,) = written().worksheets
    assert bool(sheet.sheet_view.rightToLeft) == bool(right)
    assert sheet["A1"].value == "reference"


def test_more_payments_than_a_sheet_has_rows_go_on_in_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("payments_pages.staff.export.workbook.ROWS", 4)
    monkeypatch.setattr("payments_pages.staff.export.payments.CHUNK", 3)
    for count in (4, 5, 9):
        Transaction.objects.all().delete()
        many(count)
        book = written()
        sizes = [sheet.max_row - 1 for sheet in book.worksheets]
        assert sizes == [4] * (count // 4) + ([count % 4] if count % 4 else [])
        pks = Transaction.objects.order_by("-pk").values_list("reference", flat=True)
        assert [row["reference"] for row in values_of(book)] == list(pks)


# The door


def test_it_is_a_download_with_its_length(staff: Client, scratch: Path) -> None:
    paid(currency="JOD")
    paid(currency="ILS")
    answer = staff.post(EXPORT + "?currency=JOD")
    content = b"".join(answer.streaming_content)
    assert answer["Content-Type"] == (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    )
    assert answer["Content-Disposition"] == (
        f'attachment; filename="transactions-{timezone.localdate()}.xlsx"'
    )
    assert {"no-store", "private"} <= set(answer["Cache-Control"].split(", "))
    assert int(answer["Content-Length"]) == len(content)
    (row,) = values_of(openpyxl.load_workbook(io.BytesIO(content)))
    assert row["currency"] == "JOD"
    assert not list(scratch.iterdir())


def test_ticked_rows_alone_are_exported_by_the_action(staff: Client) -> None:
    first, _second, third = paid(), paid(), paid()
    answer = staff.post(
        TRANSACTIONS,
        {"action": "export_selected_workbook", "_selected_action": [first.pk, third.pk]},
    )
    content = b"".join(answer.streaming_content)
    rows = values_of(openpyxl.load_workbook(io.BytesIO(content)))
    assert [row["reference"] for row in rows] == [third.reference, first.reference]


def test_both_exports_write_a_line_into_the_audit_trail(staff: Client) -> None:
    for url in (EXPORT, TRANSACTIONS + "export/"):
        list(staff.post(url + "?currency=ILS").streaming_content)
    lines = [(line.object_repr, line.get_change_message()) for line in LogEntry.objects.all()]
    text = "Added export of filtered payments, with customers' details “currency=ILS”."
    name = f"transactions-{timezone.localdate()}"
    assert lines == [(f"{name}.csv", text), (f"{name}.xlsx", text)]


def test_it_needs_a_post_and_the_permissions(staff: Client) -> None:
    assert staff.get(EXPORT).status_code == 405
    clerk = person("view_transaction")
    assert clerk.post(EXPORT).status_code == 403
    assert EXPORT not in clerk.get(TRANSACTIONS).content.decode()
    assert Client().post(EXPORT).status_code == 302
    assert not LogEntry.objects.exists()


def test_without_the_library_there_is_neither_button_nor_action(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = paid()
    list_with = staff.get(TRANSACTIONS).content.decode()
    monkeypatch.setattr("payments_pages.staff.export.workbook.LIBRARY", "no_such_library")
    list_without = staff.get(TRANSACTIONS).content.decode()
    for part in (EXPORT, "export_selected_workbook"):
        assert part in list_with
        assert part not in list_without
    assert TRANSACTIONS + "export/" in list_without
    assert staff.post(EXPORT).status_code == 404
    ticked = {"action": "export_selected_workbook", "_selected_action": [row.pk]}
    assert "xlsx" not in staff.post(TRANSACTIONS, ticked).get("Content-Disposition", "")
    assert not LogEntry.objects.exists()


def test_an_export_that_breaks_off_sends_nothing_and_leaves_nothing(
    staff: Client, scratch: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payments_pages.staff.export.payments.CHUNK", 3)
    many(7)
    staff.raise_request_exception = False

    def fail(execute: Any, sql: str, *arguments: Any) -> Any:
        if "LIMIT 3" in sql and " < " in sql:
            raise ConnectionResetError("the server went away, noor.haddad@example.com")
        return execute(sql, *arguments)

    with connection.execute_wrapper(fail):
        assert staff.post(EXPORT).status_code == 500
    assert not list(scratch.iterdir())
    (record,) = [r for r in caplog.records if r.message.startswith("export.broke_off")]
    assert record.levelno == logging.ERROR
    assert "noor" not in record.getMessage()


# XlsxWriter leaves its archive open, and Python says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_leaves_no_temporary_files(scratch: Path) -> None:
    many(300)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, limits[1]))
    try:
        # Which of them depends on the file that was cut off.
        with pytest.raises((OSError, XlsxWriterException, UnicodeDecodeError)):
            write_workbook(Transaction.objects.all())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    gc.collect()
    assert not list(scratch.iterdir())


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("payments_pages.staff.export.payments.CHUNK", 200)
    write_workbook(Transaction.objects.all()).close()  # the library is loaded
    peaks = []
    for more in (600, 3000):
        many(more)
        gc.collect()
        tracemalloc.start()
        write_workbook(Transaction.objects.all(), customers_shown=True).close()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    few, lots = peaks
    assert lots < few * 1.2


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_under_asgi_it_is_streamed_too(scratch: Path) -> None:
    from asgiref.sync import async_to_sync

    paid()
    user = User.objects.create_superuser("staff")

    async def read() -> bytes:
        client = AsyncClient()
        await client.aforce_login(user)
        answer = await client.post(EXPORT)
        assert answer.is_async
        broken_off = await client.post(EXPORT)  # whose file must be closed all the same
        await anext(aiter(broken_off.streaming_content))
        return b"".join([piece async for piece in answer.streaming_content])

    content = async_to_sync(read)()
    assert len(values_of(openpyxl.load_workbook(io.BytesIO(content)))) == 1


def test_it_says_what_the_csv_says(tea_box: PaymentPage) -> None:
    paid(page=tea_box, reference="00", customer={"phone": "+1"}, amount=None, currency="XXX")
    many(3, page=tea_box)
    import csv

    text = b"".join(write_csv(Transaction.objects.all(), customers_shown=True, page=tea_box))
    lines = csv.DictReader(io.StringIO(text.decode("utf-8-sig"), newline=""))
    for line, row in zip(
        lines, values_of(written(customers_shown=True, page=tea_box)), strict=True
    ):
        assert list(line) == list(row)
        for name in ("reference", "customer_phone", "page_name", "answers", "currency"):
            assert line[name].removeprefix("'") == (row[name] or "")
        assert line["paid_at"][:19] == row["paid_at"].isoformat()
        assert line["amount"] == ("" if row["amount"] is None else f"{row['amount']:.2f}")
