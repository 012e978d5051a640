"""Webhooks: signed over the bytes that go out, sent after a success, repeated within bounds."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.webhooks import NO_ANSWER, sign

# Made with: openssl dgst -sha256 -hmac sk_test_vector (and -sha512) over the bytes of BODY.
SECRET = "sk_test_vector"
BODY = '{"event":"charge.success","data":{"reference":"شاي-1","amount":10000}}'.encode()
SHA256 = "b9c9728939a065b2b4a3f460b955866f0d61f0e64b9690b9abe4be4dac6625ed"
SHA512 = (
    "b22c5448c8815321e3750728862381902a5af4f46c7f30aebd539b5a94626c98"
    "50cfce1b70c381c18e473df3d5833a00de97cb2e6259173c9df8943a07edc020"
)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


@pytest.fixture
def announced(sandbox: Sandbox, merchant: Any) -> Sandbox:
    sandbox.add_page(slug="tea", amount=10000)
    sandbox.set_account(webhook_url=merchant.url)
    return sandbox


@pytest.mark.parametrize(("algorithm", "expected"), [("sha256", SHA256), ("sha512", SHA512)])
def test_the_signature_is_what_openssl_makes(algorithm: str, expected: str) -> None:
    assert sign(BODY, SECRET, algorithm) == expected


def test_a_success_is_announced_with_the_transaction(announced: Sandbox, merchant: Any) -> None:
    reference = announced.pay("tea")
    until(lambda: len(announced.deliveries) == 1)
    ((headers, body),) = merchant.received
    assert json.loads(body) == {
        "event": "charge.success",
        "data": announced.transaction(reference),
    }
    assert headers["x-lahza-signature"] == sign(body, announced.secret_key, "sha256")
    (delivery,) = announced.deliveries
    assert (delivery.status, delivery.attempt, delivery.reference) == (200, 1, reference)


def test_header_algorithm_and_secret_are_the_accounts(announced: Sandbox, merchant: Any) -> None:
    announced.set_account(
        webhook_header="X-Signature", webhook_algorithm="sha512", webhook_secret=SECRET
    )
    assert announced.send_webhook(merchant.url, "any", body=BODY) == [200]
    ((headers, body),) = merchant.received
    assert body == BODY
    assert headers["x-signature"] == SHA512
    assert "x-lahza-signature" not in headers


@pytest.mark.parametrize("status", ["failed", "abandoned", "pending", "reversed"])
def test_no_other_outcome_is_announced(announced: Sandbox, merchant: Any, status: str) -> None:
    announced.pay("tea", status=status)
    announced.pay("tea", reference="PAID-1")
    until(lambda: len(announced.deliveries) == 1)
    assert [d.reference for d in announced.deliveries] == ["PAID-1"]


def test_a_late_payment_is_announced_when_it_succeeds(announced: Sandbox, merchant: Any) -> None:
    announced.pay("tea", late=0.2)
    time.sleep(0.05)
    assert merchant.received == []
    until(lambda: len(merchant.received) == 1)
    assert json.loads(merchant.received[0][1])["data"]["status"] == "success"


def test_nothing_is_sent_without_an_address(sandbox: Sandbox, merchant: Any) -> None:
    sandbox.add_page(slug="tea", amount=1)
    sandbox.pay("tea")
    time.sleep(0.05)
    assert sandbox.deliveries == []


def test_a_webhook_that_is_not_taken_is_sent_again(announced: Sandbox, merchant: Any) -> None:
    merchant.answers = [503, 302, 200]
    announced.pay("tea")
    until(lambda: len(announced.deliveries) == 3)
    assert [(d.attempt, d.status) for d in announced.deliveries] == [(1, 503), (2, 302), (3, 200)]
    assert len({body for _headers, body in merchant.received}) == 1


def test_a_webhook_that_is_never_taken_is_given_up(announced: Sandbox, merchant: Any) -> None:
    merchant.answers = [500] * 9
    announced.pay("tea")
    until(lambda: len(announced.deliveries) == 3)
    time.sleep(0.1)
    assert len(merchant.received) == 3


def test_an_event_can_be_repeated(announced: Sandbox, merchant: Any) -> None:
    announced.add_transaction("A-1")
    merchant.answers = [503, 200]
    assert announced.send_webhook(merchant.url, "A-1", times=3) == [503, 200, 200]
    assert len({(headers["x-lahza-signature"], body) for headers, body in merchant.received}) == 1


def test_events_can_be_sent_at_once(announced: Sandbox, merchant: Any) -> None:
    announced.add_transaction("A-1")
    together = threading.Barrier(3)
    # Nobody is answered before all three are there.
    merchant.before_answer = lambda: together.wait(5)
    assert announced.send_webhook(merchant.url, "A-1", times=3, at_once=True) == [200] * 3


def test_events_can_be_delayed_and_reordered(announced: Sandbox, merchant: Any) -> None:
    announced.add_transaction("A-1")
    started = time.monotonic()
    announced.send_webhook(merchant.url, "A-1", "refund.processed", delay=0.15)
    announced.send_webhook(merchant.url, "A-1", "charge.success")
    assert time.monotonic() - started >= 0.15
    events = [json.loads(body)["event"] for _headers, body in merchant.received]
    assert events == ["refund.processed", "charge.success"]


def test_a_refund_names_its_transaction(announced: Sandbox, merchant: Any) -> None:
    announced.add_transaction("A-1", amount=500)
    announced.send_webhook(merchant.url, "A-1", "refund.processed")
    body = json.loads(merchant.received[0][1])
    assert body["event"] == "refund.processed"
    assert body["data"]["transaction_reference"] == "A-1"
    assert body["data"]["status"] == "processed"
    assert body["data"]["amount"] == "500"
    assert "reference" not in body["data"]


def test_an_unknown_reference_can_be_announced(announced: Sandbox, merchant: Any) -> None:
    announced.send_webhook(merchant.url, "PPG-1010", data={"status": "success", "amount": 10000})
    body = json.loads(merchant.received[0][1])
    assert body["data"] == {"reference": "PPG-1010", "status": "success", "amount": 10000}


def test_a_signature_can_be_wrong_or_missing(announced: Sandbox, merchant: Any) -> None:
    for value in ["00ff", ""]:
        announced.send_webhook(merchant.url, "A-1", headers={"x-lahza-signature": value})
    wrong, missing = (headers for headers, _body in merchant.received)
    assert wrong["x-lahza-signature"] == "00ff"
    assert "x-lahza-signature" not in missing


def test_no_answer_is_told_from_a_status(announced: Sandbox) -> None:
    assert announced.send_webhook("http://127.0.0.1:1/", "A-1") == [NO_ANSWER]


def test_a_stop_ends_the_repeats(merchant: Any) -> None:
    merchant.answers = [500] * 9
    with Sandbox(webhook_url=merchant.url, webhook_delays=[60]) as sandbox:
        sandbox.add_page(slug="tea", amount=1)
        sandbox.pay("tea")
        until(lambda: len(merchant.received) == 1)
        started = time.monotonic()
    assert time.monotonic() - started < 5
    assert len(merchant.received) == 1
