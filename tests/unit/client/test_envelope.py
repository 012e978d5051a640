"""Each answer that is no success has its error, and no error tells a secret."""

import datetime as dt
import json
import logging
import traceback
from collections.abc import Callable
from email.utils import format_datetime
from typing import Any

import pytest
import requests
import responses

from payments_pages.client import Client
from payments_pages.exceptions import (
    AuthenticationFailed,
    InvalidResponse,
    NotFound,
    RateLimited,
    RequestRefused,
    ServiceError,
    ServiceUnavailable,
)
from tests.unit.client.operations import (
    BASE,
    FALSE,
    KEY,
    OPERATIONS,
    PAGE,
    VERIFY,
    answer_all,
    good,
)
from tests.unit.client.payloads import transaction


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (302, InvalidResponse),
        (401, AuthenticationFailed),
        (403, AuthenticationFailed),
        (408, ServiceUnavailable),
        (425, ServiceUnavailable),
        (429, RateLimited),
        (500, ServiceUnavailable),
        (502, ServiceUnavailable),
        (599, ServiceUnavailable),
        (410, RequestRefused),
    ],
)
def test_each_http_status_has_its_error(
    operation: str,
    status: int,
    error: type[ServiceError],
    client: Client,
    wire: responses.RequestsMock,
) -> None:
    answer_all(wire, status=status, json=FALSE)
    with pytest.raises(ServiceError) as caught:
        OPERATIONS[operation](client)
    assert type(caught.value) is error
    assert caught.value.status == status


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("status", [200, 400, 404, 422])
def test_case_c25_a_page_of_html_says_nothing(
    operation: str, status: int, client: Client, wire: responses.RequestsMock
) -> None:
    answer_all(wire, status=status, body="<html>oops</html>", content_type="text/html")
    with pytest.raises(InvalidResponse) as caught:
        OPERATIONS[operation](client)
    assert "oops" not in str(caught.value)


@pytest.mark.parametrize("operation", ["verify", "fetch", "update"])
def test_an_unknown_page_or_reference_is_not_found(
    operation: str, client: Client, wire: responses.RequestsMock
) -> None:
    answer_all(wire, status=404, json=FALSE)
    with pytest.raises(NotFound):
        OPERATIONS[operation](client)


@pytest.mark.parametrize("envelope", [{"status": "false"}, {"status": 404}, {"error": "x"}, [], {}])
def test_a_404_of_something_in_between_makes_no_payment_unknown(
    envelope: Any, client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(VERIFY, status=404, json=envelope)
    with pytest.raises(InvalidResponse):
        client.verify_transaction("PPG-1001")


def test_which_statuses_mean_unknown_can_be_said(wire: responses.RequestsMock) -> None:
    answer_all(wire, status=400, json=FALSE)
    with pytest.raises(RequestRefused):
        Client(secret_key=KEY, base_url=BASE).verify_transaction("PPG-1001")
    with pytest.raises(NotFound):
        Client(secret_key=KEY, base_url=BASE, unknown_statuses=(400, 404)).verify_transaction(
            "PPG-1001"
        )


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("status", [200, 400])
def test_a_refused_key_is_known_by_its_words_too(
    operation: str, status: int, wire: responses.RequestsMock
) -> None:
    client = Client(secret_key=KEY, base_url=BASE, unknown_statuses=(400, 404))
    answer_all(wire, status=status, json={"status": False, "message": "Invalid key"})
    with pytest.raises(AuthenticationFailed):
        OPERATIONS[operation](client)


def test_a_refusal_shows_the_services_words_shortened_and_without_secrets(
    client: Client, wire: responses.RequestsMock
) -> None:
    words = f"Slug taken by payer@example.test, key {KEY}\r\nERROR forged " + "x" * 500
    wire.post(PAGE, status=400, json={"status": False, "message": words})
    with pytest.raises(RequestRefused) as caught:
        client.create_page(name="Tea box")
    shown = str(caught.value)
    assert "Slug taken by" in shown
    assert "\n" not in shown
    assert len(shown) < 350
    for secret in ("payer@example.test", "LEAKME"):
        assert secret not in shown


@pytest.mark.parametrize("message", [None, 7, "", ["x"]])
def test_a_refusal_without_words_names_the_status(
    message: Any, client: Client, wire: responses.RequestsMock
) -> None:
    wire.post(PAGE, status=422, json={"status": False, "message": message})
    with pytest.raises(RequestRefused, match="422"):
        client.create_page(name="Tea box")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("30", 30),
        ("0", 0),
        ("99999", 3600),
        ("9" * 5000, 3600),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("١٢", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 3600),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    ],
)
def test_case_c27_retry_after_is_read_and_never_slept(
    header: str, seconds: int | None, client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(VERIFY, status=429, json=FALSE, headers={"Retry-After": header})
    with pytest.raises(RateLimited) as caught:
        client.verify_transaction("PPG-1001")
    assert caught.value.retry_after == seconds


def test_a_near_date_of_retry_after_is_read_in_seconds(
    client: Client, wire: responses.RequestsMock
) -> None:
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60)
    header = {"Retry-After": format_datetime(moment, usegmt=True)}
    wire.get(VERIFY, status=503, json=FALSE, headers=header)
    with pytest.raises(ServiceUnavailable) as caught:
        client.verify_transaction("PPG-1001")
    assert caught.value.retry_after in range(50, 61)


@pytest.mark.parametrize("operation", sorted({*OPERATIONS} - {"check"}))
@pytest.mark.parametrize(
    ("answer", "writes_maybe_done"),
    [
        ({"status": 500, "json": FALSE}, True),
        ({"status": 504, "body": "<html>"}, True),
        ({"status": 200, "body": "<html>"}, True),
        ({"status": 200, "json": good({"id": "odd"})}, True),
        ({"status": 200, "body": ""}, True),
        ({"status": 302, "body": ""}, True),
        ({"body": requests.ConnectionError("lost")}, True),
        ({"body": requests.ReadTimeout("late")}, True),
        ({"body": requests.ConnectTimeout("no connection")}, False),
        ({"status": 400, "json": FALSE}, False),
        ({"status": 401, "json": FALSE}, False),
        ({"status": 429, "json": FALSE}, False),
    ],
)
def test_only_a_write_whose_fate_is_open_may_be_done(
    operation: str,
    answer: dict[str, Any],
    writes_maybe_done: bool,
    client: Client,
    wire: responses.RequestsMock,
) -> None:
    answer_all(wire, **answer)
    with pytest.raises(ServiceError) as caught:
        OPERATIONS[operation](client)
    writes = operation in ("create", "update")
    assert caught.value.maybe_done is (writes and writes_maybe_done)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_case_c19_no_secret_and_no_payer_shows_in_an_error_or_a_log(
    operation: str, wire: responses.RequestsMock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = Client(secret_key=f"{KEY}\n", base_url=BASE)
    answers: list[dict[str, Any]] = [
        {"json": good(transaction(reference="PPG-OTHER", status=None, slug=""))},
        {"body": json.dumps(good(transaction()))[:-9]},
        {"body": requests.ConnectionError(f"Bearer {KEY} payer@example.test")},
        {"status": 400, "json": {"status": False, "message": f"{KEY} payer@example.test"}},
    ]
    for answer in answers:
        wire.reset()
        answer_all(wire, **answer)
        shown = told_by(OPERATIONS[operation], client)
        for secret in ("LEAKME", "payer@example.test", "AUTH_LEAKCODE1", "203.0.113.7"):
            assert secret not in shown
            assert secret not in caplog.text
    assert "LEAKME" not in repr(client)
    assert BASE in repr(client)


def told_by(call: Callable[[Client], Any], client: Client) -> str:
    """Give all that an error reporter would copy of a failed call from our own frames."""
    try:
        return repr(call(client))
    except ServiceError as caught:
        error = caught
    assert error.__context__ is None
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [frame.locals for frame in told.stack if "payments_pages/" in frame.filename]
    assert ours
    return repr([*told.format_exception_only(), error.args, ours])
