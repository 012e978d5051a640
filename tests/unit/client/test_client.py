"""The six operations: what goes out, what is believed of what comes back."""

import json
from typing import Any

import pytest
import responses

from payments_pages.client import Client, TransactionResource
from payments_pages.exceptions import (
    InvalidResponse,
    RequestRefused,
)
from tests.unit.client.operations import BASE, KEY, OPERATIONS, VERIFY, good
from tests.unit.client.payloads import transaction


def test_verify_gives_the_transaction(client: Client, wire: responses.RequestsMock) -> None:
    wire.get(VERIFY, json=good(transaction()))
    found = client.verify_transaction("PPG-1001")
    assert isinstance(found, TransactionResource)
    assert (found.reference, found.status, found.amount) == ("PPG-1001", "success", 10000)


@pytest.mark.parametrize(
    "status", ["failed", "pending", "ongoing", "abandoned", "reversed", "queued"]
)
def test_case_c03_the_outcome_of_the_call_is_not_that_of_the_payment(
    status: str, client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(VERIFY, json=good(transaction(status=status)))
    assert client.verify_transaction("PPG-1001").status == status


@pytest.mark.parametrize(
    "other", ["PPG-1002", "ppg-1001", "PPG-1001 ", "PPG-1001\x00", None, 7, ...]
)
def test_an_answer_about_another_reference_is_not_believed(
    other: Any, client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(VERIFY, json=good(transaction(reference=other)))
    with pytest.raises(InvalidResponse):
        client.verify_transaction("PPG-1001")


@pytest.mark.parametrize("status", ["true", 1, None, "success", [True], ...])
@pytest.mark.parametrize("code", [200, 201])
def test_only_a_status_of_exactly_true_is_a_good_call(
    status: Any, code: int, client: Client, wire: responses.RequestsMock
) -> None:
    envelope = good(transaction()) | {"status": status}
    envelope = {key: value for key, value in envelope.items() if value is not ...}
    wire.get(VERIFY, json=envelope, status=code)
    with pytest.raises(InvalidResponse):
        client.verify_transaction("PPG-1001")


def test_a_good_http_status_with_a_status_of_false_is_refused(
    client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(VERIFY, json=good(transaction()) | {"status": False})
    with pytest.raises(RequestRefused):
        client.verify_transaction("PPG-1001")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[]",
        "true",
        '"text"',
        '{"status":tr',
        "<html><title>502 Bad Gateway</title></html>",
        '{"status":true}',
        '{"status":true,"data":null}',
        '{"status":true,"data":[]}',
        '{"status":true,"data":"PPG-1001"}',
        '\ufeff{"status":true,"data":{}}',
        b'{"status":true,"data":{"reference":"PPG-1001","status":"\xff"}}',
        "[" * 100_000,
        '{"status":true,"data":' * 5_000,
    ],
)
def test_case_c25_a_body_that_is_no_envelope_is_not_believed(
    body: str | bytes, client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(VERIFY, body=body)
    with pytest.raises(InvalidResponse) as caught:
        client.verify_transaction("PPG-1001")
    assert "html" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("amount", "read_as", "text"),
    [
        ("10000", 10000, ""),
        ('"10000"', 10000, ""),
        ("10000.0", 10000, ""),
        ("1e4", 10000, ""),
        ("-10000", -10000, ""),
        ('"10000.00"', None, "10000.00"),
        ("10000.4", None, "10000.4"),
        ('"10,000"', None, "10,000"),
        ("true", None, "true"),
        ("null", None, "null"),
        ('""', None, '""'),
        ("NaN", None, "NaN"),
        ("-Infinity", None, "-Infinity"),
        ("10000000000000000000001", None, "10000000000000000000001"),
        ("9" * 5000, None, "9" * 64),
        ("1e99999999999999999999", None, "1e99999999999999999999"),
        ("10000.00000000000000000000000001", None, "10000.00000000000000000000000001"),
    ],
)
def test_case_c41_the_bare_token_decides_what_an_amount_is(
    amount: str, read_as: int | None, text: str, client: Client, wire: responses.RequestsMock
) -> None:
    body = json.dumps(good(transaction(amount="AMOUNT"))).replace('"AMOUNT"', amount)
    wire.get(VERIFY, body=body)
    found = client.verify_transaction("PPG-1001")
    assert (found.amount, found.amount_text) == (read_as, text)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_guard_is_asked_before_every_call_and_can_refuse_it(
    operation: str, wire: responses.RequestsMock
) -> None:
    asked: list[str] = []

    def refuse(name: str) -> None:
        asked.append(name)
        raise PermissionError(name)

    client = Client(secret_key=KEY, base_url=BASE, before_call=refuse)
    with pytest.raises(PermissionError):
        OPERATIONS[operation](client)
    assert len(asked) == 1
    assert len(wire.calls) == 0
