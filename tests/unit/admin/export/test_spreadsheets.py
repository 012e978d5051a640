"""Texts stay texts in a spreadsheet: neither numbers, nor dates, nor formulas."""

from pathlib import Path

import pytest

from payments_pages.management.reference_files import read_references
from payments_pages.models import PaymentPage, Transaction
from payments_pages.staff import write_csv
from payments_pages.staff.export.csv_file import neutralise
from tests.unit.admin.export.downloads import (
    written,
)
from tests.unit.admin.payments import paid

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "text", ["0599123456", "12345678901234567", "12E34", "2026-11-28", "1-2", "1.50", "7", "10:30"]
)
def test_a_text_of_figures_does_not_become_a_number_or_a_date(text: str) -> None:
    asked = {"custom_fields": [{"display_name": "Phone", "value": text}]}
    page = PaymentPage(custom_fields=[{"display_name": "Phone", "variable_name": "p"}])
    paid(reference=text, customer={"phone": text}, authorization={"last4": text}, metadata=asked)
    (line,) = written(customers_shown=True, page=page)
    names = ("reference", "customer_phone", "card_last4", "answer: Phone")
    assert {line[name] for name in names} == {f"'{text}"}


def test_a_reference_with_letters_and_an_address_stay_as_they_are() -> None:
    paid(reference="T-1E5")
    (line,) = written(customers_shown=True)
    assert (line["reference"], line["ip_address"]) == ("T-1E5", "203.0.113.77")


def test_the_command_takes_the_references_of_an_export(tmp_path: Path) -> None:
    paid(reference="0123456789")
    paid(reference="T-1")
    file = tmp_path / "export.csv"
    file.write_bytes(b"".join(write_csv(Transaction.objects.all())))
    assert [*read_references(str(file), "reference").references] == ["T-1", "0123456789"]


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
            if name.removesuffix("_minor") not in {"amount", "fees", "net"}:
                assert value[:1] not in set("=+-@\t\r\n"), name
