"""The sandbox verifies as the interface says, and remembers who asked."""

import re
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from payments_pages.sandbox import Sandbox

TRANSACTION = {
    "id", "domain", "status", "reference", "amount", "message", "gateway_response", "paid_at",
    "created_at", "channel", "currency", "ip_address", "metadata", "fees", "log",
    "authorization", "customer",
}  # fmt: skip
LOG = {"start_time", "time_spent", "attempts", "errors", "success", "mobile", "input", "history"}
AUTHORIZATION = {
    "authorization_code", "bin", "last4", "exp_month", "exp_year", "channel", "card_type",
    "bank", "country_code", "brand", "reusable", "signature", "account_name",
}  # fmt: skip
CUSTOMER = {
    "id", "first_name", "last_name", "email", "customer_code", "phone", "metadata", "risk_action",
}  # fmt: skip
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def raw_request(sandbox: Sandbox, request: bytes) -> bytes:
    """Send exactly these bytes: clients tidy paths and headers up."""
    address = urlsplit(sandbox.base_url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


def raw_get(sandbox: Sandbox, target: str) -> bytes:
    head = f"GET /api{target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    return raw_request(
        sandbox, f"{head}Authorization: Bearer {sandbox.secret_key}\r\n\r\n".encode()
    )


# Verify


def test_verify_returns_the_whole_transaction(sandbox: Sandbox, api: Any) -> None:
    sandbox.add_page(slug="tea", amount=12345, currency="JOD")
    reference = sandbox.pay("tea", email="rana@example.test", first_name="Rana")
    answer = api.verify(reference)
    body, data = answer.json(), answer.json()["data"]
    assert answer.status_code == 200
    assert body["status"] is True
    assert set(data) == TRANSACTION
    assert set(data["log"]) == LOG
    assert set(data["authorization"]) == AUTHORIZATION
    assert set(data["customer"]) == CUSTOMER
    assert (data["amount"], data["currency"], data["status"]) == (12345, "JOD", "success")
    assert (data["reference"], data["metadata"], data["fees"]) == (reference, "", 123)
    assert data["customer"]["email"] == "rana@example.test"
    assert data["customer"]["first_name"] == "Rana"
    assert {entry["type"] for entry in data["log"]["history"]} == {"action", "success"}
    assert TIME.fullmatch(data["paid_at"])
    assert TIME.fullmatch(data["created_at"])


def test_an_unknown_reference_is_told_as_such(sandbox: Sandbox, api: Any) -> None:
    sandbox.add_transaction("PPG-1")
    for reference in ["PPG-2", "ppg-1", "PPG-1%20", "PPG-1%00"]:
        answer = api.verify(reference)
        assert answer.status_code == 404, reference
        assert answer.json() == {"status": False, "message": "Transaction reference not found"}
    sandbox.set_account(unknown_reference_status=400)
    assert api.verify("PPG-2").status_code == 400


@pytest.mark.parametrize("status", ["failed", "abandoned", "pending", "reversed", "anything"])
def test_c03_the_call_succeeds_whatever_the_payment_did(
    sandbox: Sandbox, api: Any, status: str
) -> None:
    sandbox.add_page(slug="tea", amount=100)
    answer = api.verify(sandbox.pay("tea", status=status))
    assert answer.status_code == 200
    assert answer.json()["status"] is True
    assert answer.json()["data"]["status"] == status


@pytest.mark.parametrize(
    ("target", "operation", "key"),
    [
        ("/transaction/verify/a%2Fb", "verify", "a/b"),
        ("/transaction/verify/a%252Fb", "verify", "a%2Fb"),
        ("/transaction/verify/a%3Fb=1", "verify", "a?b=1"),
        ("/transaction/verify/a=b.c-d", "verify", "a=b.c-d"),
        ("/transaction/verify/a+b", "verify", "a+b"),
        ("/transaction/verify/..%2F..%2Fpage%2F18", "verify", "../../page/18"),
        ("/transaction/verify/..", "verify", ".."),
        ("/transaction/verify/a/b", "", ""),
        ("/transaction/verify/../../page/18", "", ""),
        ("/transaction/verify/a?b=1", "verify", "a"),
        ("//transaction/verify/a", "", ""),
    ],
)
def test_c11_a_reference_is_one_segment_of_the_raw_path(
    sandbox: Sandbox, target: str, operation: str, key: str
) -> None:
    sandbox.add_page(slug="tea")
    if operation:
        sandbox.add_transaction(key)
    answer = raw_get(sandbox, target)
    request = sandbox.requests[0]
    assert answer.startswith(b"HTTP/1.1 200" if operation else b"HTTP/1.1 404")
    assert (request.operation, request.key) == (operation, key)
    assert request.path == target.partition("?")[0]
    assert sandbox.calls("GET", target.partition("?")[0]) == 1


# What it remembers of requests


def test_requests_are_recorded_without_the_key(sandbox: Sandbox, api: Any) -> None:
    api("GET", "/page?perPage=5&page=2")
    api("POST", "/page", data=b'{"name": "Tea"}', headers={"Content-Type": "application/json",
                                                           "X-Trace": "7"})  # fmt: skip
    listed, created = sandbox.requests
    assert (listed.method, listed.path, listed.query) == ("GET", "/page", "perPage=5&page=2")
    assert (created.method, created.body) == ("POST", b'{"name": "Tea"}')
    assert created.headers["x-trace"] == "7"
    assert created.headers["content-type"] == "application/json"
    assert sandbox.secret_key not in repr([(r, r.headers) for r in sandbox.requests])
    assert listed.time <= created.time


def test_calls_are_counted_by_path_and_by_reference(sandbox: Sandbox, api: Any) -> None:
    for reference in ["A", "A", "B"]:
        api.verify(reference)
    assert sandbox.verify_calls("A") == 2
    assert sandbox.verify_calls("C") == 0
    assert sandbox.verify_calls() == 3
    assert sandbox.calls("GET", "/transaction/verify/B") == 1
    assert sandbox.calls("POST", "/transaction/verify/B") == 0


def test_text_that_utf8_cannot_hold_is_escaped(sandbox: Sandbox, api: Any) -> None:
    sandbox.add_transaction("A-1", message="\ud800")
    assert api.verify("A-1").json()["data"]["message"] == "\ud800"
