"""The service's answer is stored as it came, and a status only moves forward."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from payments_pages.choices import Attributed, Door, Outcome
from payments_pages.client import TransactionResource, read_metadata
from payments_pages.confirmation import (
    Confirmation,
    confirm_payment,
    find_by_token,
    find_transaction,
)
from payments_pages.confirmation.attribution import Attribution
from payments_pages.confirmation.mirror import may_follow, merge_answer
from payments_pages.models import PaymentPage, Transaction
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db


def resource(reference: str = "PPG-1", **fields: Any) -> TransactionResource:
    usual = {"reference": reference, "status": "success", "amount": 10000, "currency": "ILS"}
    return TransactionResource.from_payload({**usual, **fields})


def record(existing: Transaction | None = None, **fields: Any) -> Transaction:
    answer = resource(**fields)
    key = reference_key(answer.reference)
    row = merge_answer(existing, answer, key=key, attribution=Attribution())
    row.save()
    return row


def confirm(reference: str, page: PaymentPage) -> Confirmation:
    return confirm_payment(reference, door=Door.CALLBACK, page_token=page.token)


STATUSES = ["success", "failed", "pending", "ongoing", "abandoned", "reversed", "queued", "new!"]


@pytest.mark.parametrize("new", STATUSES)
@pytest.mark.parametrize("old", STATUSES)
def test_a_status_only_moves_forward(sandbox: Sandbox, old: str, new: str) -> None:
    """Only `reversed` may follow `success`, and nothing `reversed`; all others may change."""
    row = record(status=old, amount=1)
    record(row, status=new, amount=2)
    kept = Transaction.objects.get()
    if old == "success":
        moves = new in {"success", "reversed"}
    elif old == "reversed":
        moves = new == "reversed"
    else:
        moves = True
    assert kept.status == (new if moves else old)
    assert kept.amount == (2 if moves else 1), "a row is never half of one answer"


@given(st.text(), st.text())
def test_no_unheard_of_status_replaces_a_success(first: str, second: str) -> None:
    assert may_follow("success", second) == (second in {"success", "reversed"})
    assert not may_follow("reversed", "success")
    assert may_follow(first, second) or first in {"success", "reversed"}


def test_an_answer_that_is_not_taken_still_counts_as_a_look(sandbox: Sandbox) -> None:
    row = record()
    before = row.verified_at
    record(row, status="pending")
    row.refresh_from_db()
    assert row.status == "success"
    assert row.verified_at > before


def test_all_that_the_interface_lists_is_mirrored(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    reference = sandbox.pay("tea-box", first_name="Lina", email="payer@example.test")
    confirm(reference, tea_box)
    told, row = sandbox.transaction(reference), Transaction.objects.get()
    assert told is not None
    for name in (
        "domain", "status", "reference", "amount", "message", "gateway_response", "channel",
        "currency", "ip_address", "metadata", "fees", "log", "customer",
    ):  # fmt: skip
        assert getattr(row, name) == told[name], name
    assert row.remote_id == told["id"]
    assert row.customer_email == "payer@example.test"
    assert row.unreadable == {}
    code = told["authorization"].pop("authorization_code")
    assert row.authorization == told["authorization"]
    columns = Transaction.objects.values_list().get()
    assert code not in repr(columns), "the reusable code of a card is not kept"


def test_a_transaction_is_found_with_its_delivery(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    reference = sandbox.pay("tea-box")
    confirm(reference, tea_box)
    found = find_transaction(reference_key(reference))
    assert found is not None
    assert not found.due
    assert find_by_token(found.transaction.token) == found.transaction
    assert find_transaction(reference_key("NOBODY")) is None
    assert found.transaction.attributed_by == Attributed.CALLBACK


METADATA: list[tuple[object, dict[str, Any]]] = [
    ("", {}),
    (None, {}),
    (..., {}),
    ([], {}),
    ({}, {}),
    (0, {}),
    (False, {}),
    ("not json", {}),
    ("null", {}),
    ("[1, 2]", {}),
    ("{", {}),
    ('{"cart_id":398}', {"cart_id": 398}),
    ('"{\\"cart_id\\":1}"', {"cart_id": 1}),
    ({"custom_fields": [{"display_name": "Route", "variable_name": "route", "value": "A-B"}]},) * 2,
    ({"referrer": "https://shop.example.test/"},) * 2,
    ({"שלום": "سلام", "n": [1, None, True, "☕"]},) * 2,
    ({"a": {"b": {"c": {}}}},) * 2,
]  # type: ignore[list-item]


@pytest.mark.parametrize(("sent", "read"), METADATA)
def test_c37_metadata_of_any_shape_is_kept_and_delivers(
    tea_box: PaymentPage, sandbox: Sandbox, sent: object, read: dict[str, Any]
) -> None:
    reference = sandbox.pay("tea-box", reference="PPG-1037")
    if sent is ...:
        sandbox.faults.add(operation="verify", kind="patch", remove=["metadata"])
    else:
        sandbox.set_transaction(reference, metadata=sent)
    assert confirm(reference, tea_box).outcome is Outcome.DELIVERED
    row = Transaction.objects.get()
    assert row.metadata == (None if sent is ... else sent)
    assert type(row.metadata) is type(None if sent is ... else sent)
    assert read_metadata(row.metadata) == read
    assert Good.objects.count() == 1


BIG = {
    "id": 9007199254740993,
    "amount": 3000000000,
    "fees": 2500000000,
}


def test_c44_numbers_beyond_32_bits_are_kept_to_the_last_digit(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    PaymentPage.objects.update(amount=3000000000)
    sandbox.pay("tea-box", reference="PPG-1044", **BIG)  # type: ignore[arg-type] - any field
    told = sandbox.transaction("PPG-1044")
    assert told is not None
    sandbox.set_transaction(
        "PPG-1044",
        customer={**told["customer"], "id": 5000000000},
        log={**told["log"], "start_time": 99999999999},
    )
    assert confirm("PPG-1044", tea_box).outcome is Outcome.DELIVERED
    row = Transaction.objects.get()
    assert (row.remote_id, row.amount, row.fees) == (9007199254740993, 3000000000, 2500000000)
    assert (row.customer["id"], row.log["start_time"]) == (5000000000, 99999999999)
    assert row.unreadable == {}


@pytest.mark.parametrize(
    ("fields", "unreadable"),
    [
        ({"id": 9223372036854775807, "fees": -9223372036854775808}, {}),
        ({"id": 9223372036854775808}, {"id": "9223372036854775808"}),
        ({"fees": 10**30 - 1}, {"fees": str(10**30 - 1)}),
        ({"fees": -5}, {}),
        ({"fees": "12.5", "id": "x"}, {"fees": "12.5", "id": "x"}),
        ({"fees": True}, {"fees": "true"}),
        ({"paid_at": "2023-02-30T01:49:57.514Z"}, {"paid_at": "2023-02-30T01:49:57.514Z"}),
        ({"paid_at": 5, "created_at": "soon"}, {"paid_at": "5", "created_at": "soon"}),
        ({"customer": "nobody", "log": 7}, {"customer": "nobody", "log": "7"}),
        ({"channel": ["card"], "ip_address": {}}, {"channel": '["card"]', "ip_address": "{}"}),
    ],
)
def test_c44_a_field_that_fits_no_column_loses_no_payment(
    tea_box: PaymentPage, sandbox: Sandbox, fields: dict[str, Any], unreadable: dict[str, str]
) -> None:
    sandbox.pay("tea-box", reference="PPG-1044", **fields)
    assert confirm("PPG-1044", tea_box).outcome is Outcome.DELIVERED
    row = Transaction.objects.get()
    assert row.unreadable == unreadable
    for name in unreadable:
        column = "remote_id" if name == "id" else name
        assert getattr(row, column) in (None, "", {}), name
    assert row.amount == 10000


def test_long_and_odd_text_loses_no_payment(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    text = "ש☕" * 6000
    fields = {
        "gateway_response": text, "message": "a\x00b", "channel": "c" * 500,
        "ip_address": "d" * 500, "metadata": {"a\x00": "b\x00", "deep": [[[[[1]]]]]},
        "customer": {"email": "e" * 500, "first_name": "\ud83d"},
    }  # fmt: skip
    sandbox.pay("tea-box", reference="PPG-1045", **fields)
    assert confirm("PPG-1045", tea_box).outcome is Outcome.DELIVERED
    row = Transaction.objects.get()
    assert row.gateway_response == text[:10_000]
    assert row.message == "ab"
    assert len(row.channel) == 64
    assert len(row.customer_email) == 320
    assert row.metadata == {"a": "b", "deep": [[[[[1]]]]]}


@pytest.mark.parametrize(
    ("paid_at", "stored"),
    [
        ("2024-10-25T22:30:00.000Z", dt.datetime(2024, 10, 25, 22, 30, tzinfo=dt.UTC)),
        ("2024-10-26T01:30:00+03:00", dt.datetime(2024, 10, 25, 22, 30, tzinfo=dt.UTC)),
        # The hour that Hebron has twice, on the night its summer time ends.
        ("2024-10-25T22:59:59.999Z", dt.datetime(2024, 10, 25, 22, 59, 59, 999000, tzinfo=dt.UTC)),
        ("2024-10-25T23:30:00Z", dt.datetime(2024, 10, 25, 23, 30, tzinfo=dt.UTC)),
    ],
)
def test_c63_the_stored_instant_is_the_services(
    tea_box: PaymentPage, sandbox: Sandbox, settings: Any, paid_at: str, stored: dt.datetime
) -> None:
    assert settings.TIME_ZONE == "Asia/Hebron"
    sandbox.pay("tea-box", reference="PPG-1063", paid_at=paid_at)
    assert confirm("PPG-1063", tea_box).outcome is Outcome.DELIVERED
    row = Transaction.objects.get(paid_at=stored)
    assert row.paid_at == stored


@pytest.mark.parametrize("shift", [dt.timedelta(minutes=10), dt.timedelta(days=-5)])
def test_c63_neither_age_nor_future_blocks(
    tea_box: PaymentPage, sandbox: Sandbox, shift: dt.timedelta
) -> None:
    paid_at = (timezone.now() + shift).isoformat()
    sandbox.pay("tea-box", reference="PPG-1063", paid_at=paid_at)
    assert confirm("PPG-1063", tea_box).outcome is Outcome.DELIVERED
    assert Transaction.objects.get().paid_at == dt.datetime.fromisoformat(paid_at)


def test_c63_hebron_sees_its_own_date() -> None:
    row = Transaction(paid_at=dt.datetime(2024, 10, 25, 22, 30, tzinfo=dt.UTC))
    assert row.paid_at is not None
    assert timezone.localtime(row.paid_at).isoformat() == "2024-10-26T01:30:00+03:00"


def test_the_columns_take_what_no_float_holds(sandbox: Sandbox) -> None:
    row = record(metadata={"n": Decimal("0.1"), "big": Decimal("1E+40")})
    row.refresh_from_db()
    assert row.metadata == {"n": 0.1, "big": "1E+40"}
