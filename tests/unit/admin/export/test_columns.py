"""What each row of the CSV file says about a payment."""

import datetime as dt
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.staff import write_csv
from payments_pages.staff.export.payments import COLUMNS
from tests.unit.admin.export.downloads import (
    BOM,
    EXPORT,
    rows_of,
    written,
)
from tests.unit.admin.payments import CARD, NOOR, paid

pytestmark = pytest.mark.django_db


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


def test_a_row_says_all_about_a_payment_but_of_its_card_the_last_four_digits(
    tea_box: PaymentPage,
) -> None:
    moment = dt.datetime(2026, 11, 27, 19, 5, 7, 250_000, tzinfo=dt.UTC)
    row = paid(reference="T-1", page=tea_box, amount=12345, currency="JOD", fees=7, paid_at=moment,
               created_at=None, verified_at=moment)  # fmt: skip
    Fulfilment.objects.create(
        transaction=row,
        reference_key=row.reference_key,
        state="delivered",
        delivered_at=moment,
        money_back_at=moment,
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
        "net_minor": "12338",
        "net": "123.38",
        "channel": "card",
        "mode": "test",
        "page_slug": "tea-box",
        "page_name": "Tea box",
        "paid_on": "2026-11-27",
        "paid_time": "21:05:07",
        "paid_at": local,
        "created_at": "",
        "verified_at": local,
        "delivered_at": local,
        "money_back_at": local,
        "decision": "",
        "decided_by": "",
        "decided_at": "",
        "decision_note": "",
        "customer_email": "noor.haddad@example.com",
        "customer_name": "Noor Haddad",
        "customer_phone": "'+970 59 123 4567",
        "card_brand": "visa",
        "card_last4": "'4081",
        "ip_address": "203.0.113.77",
        "answers": '{"Shirt": "for Noor"}',
    }
    assert tuple(line) == (*COLUMNS, "answers")
    for secret in (CARD["bin"], CARD["bank"], NOOR["customer_code"]):
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
    assert (lines["ils"]["net_minor"], lines["ils"]["net"]) == ("-4", "-0.04")
    assert (lines["KWD"]["net_minor"], lines["ILS"]["net_minor"]) == ("", "")


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
    assert written(customers_shown=True)[0]["customer_phone"] == "'970591234567"


def test_times_are_in_the_time_zone_that_was_current_when_the_export_began() -> None:
    paid(paid_at=dt.datetime(2026, 11, 28, 23, 30, tzinfo=dt.UTC))
    with timezone.override("Asia/Tokyo"):
        pieces = write_csv(Transaction.objects.all())
    (line,) = rows_of(b"".join(pieces))
    assert (line["paid_on"], line["paid_time"]) == ("2026-11-29", "08:30:00")
    assert line["paid_at"] == "2026-11-29T08:30:00+09:00"


def test_what_was_never_paid_has_no_day() -> None:
    paid(paid_at=None)
    (line,) = written()
    assert (line["paid_on"], line["paid_time"], line["paid_at"]) == ("", "", "")


def test_the_last_hours_of_the_last_year_are_exported() -> None:
    paid(paid_at=dt.datetime(9999, 12, 31, 23, 30, tzinfo=dt.UTC))
    assert written()[0]["paid_at"] == "9999-12-31T23:30:00+00:00"
