"""What the wire can do to a payment, told by every door: reported cases in full."""

import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason, VerificationState
from payments_pages.client import GATES
from payments_pages.client.resilience import FAILURES
from payments_pages.conf import KEYS
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.pages import create_page, set_active
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good
from tests.support.webhook_signing import HEADER, SECRET, event, post
from tests.unit.client.conftest import certificate
from tests.unit.client.raw_server import OK, RawServer, answer

__all__ = ["certificate"]  # a fixture

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def client() -> Client:
    """A payer's browser; elsewhere in this directory it is the service's client."""
    return Client()


HTML = "<html><title>502 Bad Gateway</title></html>"

C25: dict[str, dict[str, Any]] = {
    "502 html": {"kind": "html", "status": 502, "text": HTML},
    "400 html": {"kind": "html", "status": 400, "text": HTML},
    "404 html": {"kind": "html", "status": 404, "text": HTML},
    "200 html": {"kind": "html", "status": 200, "text": HTML},
    "200 empty": {"kind": "empty"},
    "200 cut off": {"kind": "raw", "body": b'{"status":tr'},
}
C27: dict[str, dict[str, Any]] = {
    "429 in 30": {"kind": "status", "status": 429, "headers": {"Retry-After": "30"}},
    "429": {"kind": "status", "status": 429},
    "503 in 30": {"kind": "status", "status": 503, "headers": {"Retry-After": "30"}},
    "closed": {"kind": "drop"},
    "closed in the headers": {"kind": "drop", "after": "headers"},
    "reset": {"kind": "drop", "reset": True},
}
FAULTS = {**C25, **C27}


@pytest.fixture(autouse=True)
def open_webhook(sandbox: Sandbox, configure: Any) -> None:
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=SECRET)


@pytest.fixture
def doors(tea_box: PaymentPage, client: Client) -> dict[str, Callable[[str], Any]]:
    """The three doors that HTTP opens, each with its answer for "not now"."""
    return {
        "callback": lambda reference: client.get(
            f"/payments/callback/{tea_box.token}/", {"reference": reference}
        ),
        "webhook": lambda reference: post(event(reference)),
        "confirm": lambda reference: client.post(
            "/payments/confirm/", {"reference": reference}, content_type="application/json"
        ),
    }


LATER = {"callback": 200, "webhook": 503, "confirm": 503}


def assert_later(door: str, response: Any) -> None:
    assert response.status_code == LATER[door]
    assert "Bad Gateway" not in response.content.decode()
    assert not Good.objects.exists()
    assert not Transaction.objects.exists(), "nothing is stored as failed"
    assert Verification.objects.get().state == VerificationState.DUE


@pytest.mark.parametrize("door", LATER)
@pytest.mark.parametrize("fault", FAULTS)
def test_c25_c27_a_fault_of_the_wire_is_later_for_every_door(
    fault: str,
    door: str,
    doors: dict[str, Callable[[str], Any]],
    tea_box: PaymentPage,
    sandbox: Sandbox,
) -> None:
    reference = sandbox.pay("tea-box", metadata={"token": str(tea_box.token)})
    sandbox.faults.add(operation="verify", **FAULTS[fault])
    started = time.monotonic()
    assert_later(door, doors[door](reference))
    assert time.monotonic() - started < 3, "no thread sleeps for Retry-After"
    assert sandbox.verify_calls(reference) <= 2
    sandbox.faults.clear()
    doors["callback"](reference)
    let_time_pass(100)
    sweep_due()
    assert Good.objects.count() == 1


@pytest.mark.parametrize("door", LATER)
def test_c27_a_certificate_nobody_vouches_for_is_later_for_every_door(
    door: str,
    doors: dict[str, Callable[[str], Any]],
    certificate: tuple[Path, ssl.SSLContext],
    configure: Any,
) -> None:
    with RawServer(answer(OK), certificate[1]) as server:
        configure(BASE_URL=f"https://127.0.0.1:{server.port}/api")
        assert_later(door, doors[door]("PPG-1028"))
    assert server.requests == []
    assert "certificate" in Verification.objects.get().last_error


def test_c27_no_setting_switches_the_certificates_check_off() -> None:
    assert not [key for key in KEYS if "VERIFY" in key or "SSL" in key or "TLS" in key]


@pytest.mark.parametrize("door", LATER)
def test_c27_a_name_that_does_not_resolve_is_later_for_every_door(
    door: str,
    doors: dict[str, Callable[[str], Any]],
    configure: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve = socket.getaddrinfo

    def fail(host: Any, *arguments: Any, **named: Any) -> Any:
        if host == "service.test":
            raise socket.gaierror("no such name")
        return resolve(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    configure(BASE_URL="https://service.test/api")
    assert_later(door, doors[door]("PPG-1028"))


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("door", LATER)
def test_a_refused_key_is_our_fault_for_every_door_and_an_alarm(
    status: int,
    door: str,
    doors: dict[str, Callable[[str], Any]],
    sandbox: Sandbox,
    caplog: pytest.LogCaptureFixture,
) -> None:
    reference = sandbox.pay("tea-box")
    body = {"status": False, "message": "Invalid key"}
    sandbox.faults.add(operation="verify", kind="status", status=status, body=body)
    assert_later(door, doors[door](reference))
    assert sandbox.verify_calls() == 1
    assert [r.levelname for r in caplog.records if "refuses the secret key" in r.getMessage()] == [
        "CRITICAL"
    ]


# While nobody is asked


@pytest.mark.parametrize("door", LATER)
def test_with_the_breaker_open_every_door_answers_at_once_and_the_sweep_finishes(
    door: str,
    doors: dict[str, Callable[[str], Any]],
    tea_box: PaymentPage,
    sandbox: Sandbox,
) -> None:
    sandbox.faults.add(operation="verify", kind="drop")
    for number in range(FAILURES):
        confirm_payment(f"PPG-{number}", door=Door.CALLBACK)
    Verification.objects.all().delete()
    asked = sandbox.verify_calls()
    assert asked <= FAILURES + 1
    reference = sandbox.pay("tea-box", metadata={"token": str(tea_box.token)})
    started = time.monotonic()
    assert_later(door, doors[door](reference))
    assert time.monotonic() - started < 1
    assert sandbox.verify_calls() == asked
    assert Verification.objects.get().last_error.startswith("not asked: ")
    sandbox.faults.clear()
    doors["callback"](reference)
    let_time_pass(100)
    sweep_due()
    assert Good.objects.count() == 1


def test_with_the_bulkhead_full_a_payer_is_answered_at_once(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(MAX_CALLS=1)
    reference = sandbox.pay("tea-box")
    with GATES.opened("elsewhere", b"", max_calls=1):
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.UNAVAILABLE
    assert found.retry_after == 5
    assert sandbox.verify_calls() == 0
    let_time_pass(10)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


# C45


LONG = {
    "gateway_response": "g" * 5000,
    "message": "م" * 5000,
    "channel": "c" * 64,
}
LONG_CARD = {"bank": "b" * 300, "card_type": "t" * 200, "country_code": "Palestine"}
LONG_PAYER = {"first_name": "f" * 300, "email": f"{'e' * 240}@example.test"}


def test_c45_long_text_in_every_field_delivers(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    reference = sandbox.pay("tea-box", reference="PPG-1045")
    data = sandbox.transaction(reference)
    assert data is not None
    sandbox.set_transaction(
        reference,
        **LONG,
        authorization={**data["authorization"], **LONG_CARD},
        customer={**data["customer"], **LONG_PAYER},
    )
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERED
    row = Transaction.objects.get()
    assert {name: getattr(row, name) for name in LONG} == LONG
    assert row.customer_email == LONG_PAYER["email"]
    assert row.authorization["country_code"] == "Palestine"
    assert row.customer["first_name"] == LONG_PAYER["first_name"]


def test_c45_a_currency_of_four_letters_is_held(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    reference = sandbox.pay("tea-box", reference="PPG-1045")
    sandbox.set_transaction(reference, currency="ILSX")
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.HELD
    row = Fulfilment.objects.get()
    assert (row.state, row.reason) == (FulfilmentState.HELD, Reason.CURRENCY_MISMATCH)


# C53, C55


def test_c53_a_page_whose_row_could_not_be_saved_is_adopted(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service made the page, and then our own database failed."""
    save = PaymentPage.save

    def fail_with_a_number(page: PaymentPage, *arguments: Any, **named: Any) -> None:
        if page.remote_id is not None:
            raise DatabaseError("disk full")
        save(page, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(PaymentPage, "save", fail_with_a_number)
        with pytest.raises(DatabaseError):
            create_page(name="Tea box", amount=10000, slug="tea-box")
    page = create_page(name="Tea box", amount=10000, slug="tea-box")
    assert sandbox.calls("POST", "/page") == 1
    assert PaymentPage.objects.get() == page
    assert page.remote_id == sandbox.state.pages()[0]["id"]


def test_c55_deactivating_twice_does_no_harm(sandbox: Sandbox) -> None:
    page = create_page(name="Tea box", amount=10000, slug="tea-box", description="12 bags")
    for _time in range(2):
        set_active(page, active=False)
    there = sandbox.state.pages()[0]
    assert (there["active"], there["description"], there["amount"]) == (False, "12 bags", 10000)
    page.refresh_from_db()
    assert (page.active, page.description, page.amount) == (False, "12 bags", 10000)
