"""Any JSON becomes JSON that every database stores, without the reusable card code."""

import datetime as dt
import itertools
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from payments_pages.client import TransactionResource, read_metadata
from payments_pages.client.payloads import MAX_DEPTH, storable
from tests.unit.client.payloads import ANY_JSON, CODE, assert_storable, depth_of, nested, read

FIELDS = ["metadata", "log", "customer", "authorization", "channel"]


def kept(field: str, value: Any, known: bool) -> str:
    """Return all that is kept of a payment with this value, whose card code is known or another."""
    authorization = {"authorization_code": CODE if known else "AUTH_another"}
    found = read(**({"authorization": authorization} | {field: value}))
    values = [getattr(found, name) for name in TransactionResource.__slots__]
    return repr([*values, read_metadata(found.metadata)])


@given(ANY_JSON)
def test_storing_twice_changes_nothing_more(value: Any) -> None:
    once = storable(value)
    assert_storable(once)
    assert storable(once) == once


@pytest.mark.parametrize("metadata", [nested(19), nested(MAX_DEPTH), nested(21), nested(300)])
def test_deeply_nested_metadata_is_storable_and_loses_nothing(metadata: Any) -> None:
    found = read(metadata=metadata)
    assert_storable(found.metadata)
    value, levels = found.metadata, 0
    while not isinstance(value, int):
        value = json.loads(value) if isinstance(value, str) else value
        value, levels = value["in"], levels + 1
    assert levels == depth_of(metadata)


@pytest.mark.parametrize(
    "place",
    [
        {"authorization_code": CODE},
        {"a": [{"b": {"authorization_code": CODE, "x": 1}}]},
        {"authorizationCode": CODE},
        {"note": f"charged with {CODE}"},
        {CODE: 1},
        f'{{"authorization_code":"{CODE}"}}',
        f'{{"authorization\\u005fcode":"{CODE}"}}',
        json.dumps(json.dumps({"authorization_code": CODE})),
        {"text": json.dumps({"a": [{"authorization_code": CODE}]})},
        f"authorization_code={CODE}&x=1",
        f'{{"authorization_code": "{CODE}", broken',
        nested(30, {"authorization_code": CODE}),
        nested(30, json.dumps({"authorization_code": CODE})),
    ],
)
def test_the_reusable_card_code_is_in_nothing_that_is_kept(place: Any) -> None:
    """In whichever field it stands; an unknown code without its name beside it is only a text."""
    named = "uthorization" in json.dumps(place)
    told = [
        (field, known)
        for field, known in itertools.product(FIELDS, (True, False))
        if (named or (known and field != "authorization")) and CODE in kept(field, place, known)
    ]
    assert told == []


def test_a_json_text_without_a_card_code_is_kept_letter_for_letter() -> None:
    text = '{ "n": 1.10, "u": "\\u05d0" , "big": 1e400}'
    assert read(metadata=text).metadata == text


def test_the_rest_of_a_json_text_with_a_card_code_is_kept() -> None:
    text = json.dumps({"cart_id": 398, "authorization_code": CODE})
    assert read_metadata(read(metadata=text).metadata) == {"cart_id": 398}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Decimal("0.1"), 0.1),
        (Decimal("3.0"), 3),
        (Decimal("0.12345678901234567890123"), "0.12345678901234567890123"),
        (Decimal("1e400"), "1E+400"),
        (Decimal("NaN"), "NaN"),
        (float("inf"), "Infinity"),
        (2.5, 2.5),
        (1e300, "1E+300"),
        (2**63 - 1, 2**63 - 1),
        (2**63, "9223372036854775808"),
    ],
)
def test_numbers_are_kept_exactly_or_as_text(value: Any, kept: Any) -> None:
    found = storable({"n": value})["n"]
    assert found == kept
    assert type(found) is type(kept)


def test_a_number_too_long_for_decimal_digits_is_kept_too() -> None:
    assert storable([1 << 20_000]) == [f"{1 << 20_000:#x}"]


def test_even_what_no_json_writer_can_follow_is_kept_as_a_word() -> None:
    found = storable(nested(100_000))
    assert_storable(found)
    assert "[dict that cannot be written]" in json.dumps(found)


def test_what_is_no_json_at_all_is_kept_as_text() -> None:
    assert storable([dt.date(2024, 3, 5)]) == ["2024-03-05"]
