"""Any JSON becomes a resource, or a typed error."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from payments_pages.client import MAX_LENGTHS, PageResource, TransactionResource, read_metadata
from payments_pages.exceptions import InvalidResponse
from tests.unit.client.payloads import ANY_JSON, CODE, assert_storable, page, read, transaction


@pytest.mark.slow
@settings(max_examples=500)
@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(transaction(), ANY_JSON))
    | ANY_JSON
    | st.fixed_dictionaries(
        {"reference": st.just("PPG-1001"), "status": st.text()},
        optional={key: ANY_JSON for key in transaction() if key not in ("reference", "status")},
    )
)
def test_any_json_gives_a_storable_transaction_or_an_invalid_response(payload: Any) -> None:
    try:
        found = TransactionResource.from_payload(payload)
    except InvalidResponse:
        return
    for value in (found.metadata, found.log, found.authorization, found.customer):
        assert_storable(value)
    assert_storable(found.unreadable)
    assert_storable(read_metadata(found.metadata))
    for name in ("reference", "status", "domain", "currency", "message", "channel", "amount_text"):
        value = getattr(found, name)
        assert type(value) is str
        assert len(value) <= MAX_LENGTHS[name]
        assert_storable(value)
    for number in (found.id, found.amount, found.fees):
        assert number is None or (type(number) is int and -(2**63) <= number < 2**63)


@pytest.mark.slow
@settings(max_examples=500)
@given(
    ANY_JSON
    | st.fixed_dictionaries(
        {"id": st.integers(), "slug": st.text()},
        optional=dict.fromkeys(
            (*page(id=..., slug=...), "amount", "metadata", "custom_fields"), ANY_JSON
        ),
    )
)
def test_any_json_gives_a_storable_page_or_an_invalid_response(payload: Any) -> None:
    try:
        found = PageResource.from_payload(payload)
    except InvalidResponse:
        return
    assert_storable([found.metadata, *found.custom_fields, found.unreadable])
    assert type(found.id) is int
    assert type(found.active) is bool


def test_a_transaction_is_read_as_the_interface_shows_it() -> None:
    found = read()
    assert found.id == 690075001
    assert (found.amount, found.amount_text, found.fees) == (10000, "", 100)
    assert found.paid_at == dt.datetime(2024, 3, 5, 12, 30, 56, tzinfo=dt.UTC)
    assert found.created_at == dt.datetime(2024, 3, 5, 12, 26, 44, tzinfo=dt.UTC)
    assert found.log == {"start_time": 1709641851, "history": [{"type": "action", "time": 2}]}
    assert found.authorization == {"last4": "1000", "reusable": True}
    assert found.customer_email == "payer@example.test"
    assert found.unreadable == {}


@pytest.mark.parametrize("amount", [10000, "10000", 10000.0, Decimal("10000.0"), Decimal("1E+4")])
def test_case_c41_whole_amounts_are_read(amount: Any) -> None:
    found = read(amount=amount)
    assert type(found.amount) is int
    assert (found.amount, found.amount_text) == (10000, "")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("10000.00", "10000.00"),
        (10000.4, "10000.4"),
        ("10,000", "10,000"),
        ("١٠٠٠٠", "١٠٠٠٠"),
        (" 10000", " 10000"),
        ("-10000", "-10000"),
        (True, "true"),
        (None, "null"),
        ("", '""'),
        ([10000], "[10000]"),
        (float("nan"), "NaN"),
        (Decimal("NaN"), "NaN"),
        (Decimal("1e999999999"), "1E+999999999"),
        (10000000000000000000001, "10000000000000000000001"),
        ("10000000000000000000001", "10000000000000000000001"),
        (2**63, str(2**63)),
        ("9" * 200, "9" * 64),
    ],
)
def test_case_c41_other_amounts_are_none_and_shown_as_text(amount: Any, text: str) -> None:
    found = read(amount=amount)
    assert found.amount is None
    assert found.amount_text == text


def test_an_amount_that_is_not_there_is_none() -> None:
    found = read(amount=...)
    assert (found.amount, found.amount_text) == (None, "")


def test_a_negative_amount_is_read_for_the_policy_to_judge() -> None:
    assert read(amount=-10000).amount == -10000


def test_case_c44_numbers_beyond_32_bits_are_exact() -> None:
    found = read(
        id=9007199254740993, amount=3000000000, fees=2500000000, customer={"id": 5000000000}
    )
    assert (found.id, found.amount, found.fees) == (9007199254740993, 3000000000, 2500000000)
    assert found.customer == {"id": 5000000000}


def test_case_c44_numbers_beyond_64_bits_are_set_aside() -> None:
    found = read(id=9223372036854775808, fees=10**30, log={"start_time": 10**30})
    assert (found.id, found.fees, found.amount) == (None, None, 10000)
    assert found.unreadable == {"id": "9223372036854775808", "fees": str(10**30)}
    assert found.log == {"start_time": str(10**30)}


@pytest.mark.parametrize(
    ("metadata", "as_object"),
    [
        ("", {}),
        (None, {}),
        ([], {}),
        ({}, {}),
        (0, {}),
        ("not json", {}),
        ("null", {}),
        ("[1]", {}),
        ("{", {}),
        ('{"cart_id":398}', {"cart_id": 398}),
        ('"{\\"cart_id\\":1}"', {"cart_id": 1}),
        ({"referrer": "https://shop.example.test/"}, {"referrer": "https://shop.example.test/"}),
        ({"custom_fields": [{"value": "A-B"}]}, {"custom_fields": [{"value": "A-B"}]}),
    ],
)
def test_case_c37_metadata_is_kept_as_it_came_and_read_as_an_object(
    metadata: Any, as_object: dict[str, Any]
) -> None:
    found = read(metadata=metadata)
    assert found.metadata == metadata
    assert type(found.metadata) is type(metadata)
    assert read_metadata(found.metadata) == as_object


def test_case_c37_metadata_encoded_three_times_is_not_an_object() -> None:
    assert read_metadata(json.dumps(json.dumps(json.dumps({"a": 1})))) == {}


def test_case_c45_long_text_is_cut_and_kept_whole_aside() -> None:
    found = read(channel="c" * 100, currency="ILSX" * 9, gateway_response="g" * 5000)
    assert found.channel == "c" * 64
    assert found.unreadable["channel"] == "c" * 100
    assert found.currency == ("ILSX" * 9)[:16]
    assert found.gateway_response == "g" * 5000
    assert "gateway_response" not in found.unreadable


def test_text_that_is_not_text_is_set_aside() -> None:
    found = read(message={"text": "no"}, channel=7, domain=None, log=[1], customer="x")
    assert (found.message, found.channel, found.domain) == ("", "", "")
    assert (found.log, found.customer, found.customer_email) == ({}, {}, "")
    assert found.unreadable == {
        "message": '{"text": "no"}',
        "channel": "7",
        "log": "[1]",
        "customer": "x",
    }


def test_nul_and_lone_surrogates_leave_every_text() -> None:
    found = read(message="a\x00b\ud800c", customer={"first\x00": "x\x00y", "list": ["\udfff"]})
    assert found.message == "abc"
    assert found.customer == {"first": "xy", "list": [""]}


@pytest.mark.parametrize("field", ["status", "domain", "currency"])
def test_a_word_with_a_nul_in_it_does_not_become_another_word(field: str) -> None:
    word = {"status": "success", "domain": "test", "currency": "ILS"}[field]
    assert getattr(read(**{field: f"{word}\x00"}), field) == f"{word}\ufffd"


@pytest.mark.parametrize("status", ["failed", "Success", "success ", "", "ongoing", "SUCCESS"])
def test_case_c03_the_status_is_kept_verbatim(status: str) -> None:
    assert read(status=status).status == status


@pytest.mark.parametrize(
    "text",
    [
        "2023-01-1T12:30:56.000Z",
        "2023-02-30T01:49:57.514Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "0999-01-01",
        "yesterday",
        "2" * 100,
        1709641851,
        True,
    ],
)
def test_what_is_no_date_is_set_aside(text: Any) -> None:
    found = read(paid_at=text)
    assert found.paid_at is None
    assert found.unreadable["paid_at"] == (text if isinstance(text, str) else json.dumps(text))


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-05T12:30:56Z",
        "2024-03-05T14:30:56+02:00",
        "2024-03-05T12:30:56",
        "2024-03-05 12:30:56.000",
    ],
)
def test_dates_are_read_in_utc(text: str) -> None:
    assert read(paid_at=text).paid_at == dt.datetime(2024, 3, 5, 12, 30, 56, tzinfo=dt.UTC)


@pytest.mark.parametrize("nothing", [None, "", ...])
def test_no_date_is_none_and_nothing_to_set_aside(nothing: Any) -> None:
    found = read(paid_at=nothing)
    assert found.paid_at is None
    assert found.unreadable == {}


def test_camel_case_twins_are_read_only_when_the_field_is_absent() -> None:
    twins = {"paidAt": "2024-01-01", "createdAt": "2024-01-02", "transaction_date": "2024-01-03"}
    assert read(**twins).paid_at == dt.datetime(2024, 3, 5, 12, 30, 56, tzinfo=dt.UTC)
    assert read(**twins, paid_at=None).paid_at is None
    found = read(**twins, paid_at=..., created_at=...)
    assert found.paid_at == dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    assert found.created_at == dt.datetime(2024, 1, 2, tzinfo=dt.UTC)
    last = read(transaction_date="2024-01-03", created_at=...)
    assert last.created_at == dt.datetime(2024, 1, 3, tzinfo=dt.UTC)


@pytest.mark.parametrize("reference", [None, ..., "", "  ", 7, "a\x00b", "\ud800", "r" * 129])
def test_a_transaction_without_a_usable_reference_is_refused(reference: Any) -> None:
    with pytest.raises(InvalidResponse):
        read(reference=reference)


@pytest.mark.parametrize("status", [None, ..., True, 1, ["success"]])
def test_a_transaction_without_a_text_status_is_refused(status: Any) -> None:
    with pytest.raises(InvalidResponse):
        read(status=status)


@pytest.mark.parametrize("payload", [None, [], "success", 1])
def test_what_is_no_object_is_refused(payload: Any) -> None:
    with pytest.raises(InvalidResponse):
        TransactionResource.from_payload(payload)
    with pytest.raises(InvalidResponse):
        PageResource.from_payload(payload)


def test_a_repr_shows_nothing_of_the_payer() -> None:
    shown = repr(read(metadata={"note": "PRIVATE"}, message="PRIVATE"))
    assert "PPG-1001" in shown
    for private in ("payer@example.test", "203.0.113.7", "1000'", "PRIVATE", CODE):
        assert private not in shown
