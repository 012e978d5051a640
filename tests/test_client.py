"""The six operations: what goes out, what is believed of what comes back."""

import datetime as dt
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from email.utils import format_datetime
from typing import Any

import pytest
import requests
import responses
from hypothesis import given, settings
from hypothesis import strategies as st

from payments_pages.client import MAX_LISTS, Client
from payments_pages.exceptions import (
    AuthenticationFailed,
    InvalidReference,
    InvalidResponse,
    NotFound,
    PaymentsPagesError,
    RateLimited,
    RequestRefused,
    ServiceError,
    ServiceUnavailable,
)
from payments_pages.resources import PageResource, TransactionResource
from tests.test_resources import ANY_JSON, page, transaction

KEY = "sk_test_LEAKME0001"
BASE = "https://service.test/api"
VERIFY = f"{BASE}/transaction/verify/PPG-1001"
PAGE = f"{BASE}/page"
PAGE_18 = f"{BASE}/page/18"
SLUG = f"{BASE}/page/check_slug_availability/tea-box"

FALSE = {"status": False, "message": "The service's own words"}


@pytest.fixture
def client() -> Client:
    return Client(secret_key=KEY, base_url=BASE)


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


def good(data: Any, **more: Any) -> dict[str, Any]:
    return {"status": True, "message": "As asked", "data": data, **more}


def sent(wire: responses.RequestsMock) -> Any:
    body = wire.calls[-1].request.body
    assert body is not None
    return json.loads(body)


# --- verify


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


@settings(max_examples=500, deadline=None)
@given(
    st.fixed_dictionaries({"status": st.just(True), "data": ANY_JSON})
    | st.fixed_dictionaries(
        {"status": st.just(True)},
        optional={
            "data": st.fixed_dictionaries(
                {"reference": st.just("PPG-1001"), "status": st.just("success")},
                optional=dict.fromkeys(
                    ("id", "amount", "paid_at", "metadata", "log", "customer"), ANY_JSON
                ),
            )
        },
    )
    | ANY_JSON,
    st.sampled_from([200, 201, 400, 404, 500]),
)
def test_any_json_gives_a_resource_or_an_error_of_ours(document: Any, status: int) -> None:
    body = json.dumps(document, default=str)
    client = Client(secret_key=KEY, base_url=BASE)
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        for method, url in (("GET", VERIFY), ("GET", PAGE_18), ("GET", PAGE), ("POST", PAGE)):
            wire.add(method, url, body=body, status=status)
        calls: list[Callable[[], Any]] = [
            lambda: client.verify_transaction("PPG-1001"),
            lambda: client.fetch_page(18),
            client.list_pages,
            lambda: client.create_page(name="x"),
        ]
        for call in calls:
            try:
                assert call() is not None
            except PaymentsPagesError:
                continue


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_an_error_of_ours(body: bytes) -> None:
    with responses.RequestsMock() as wire:
        wire.get(VERIFY, body=body)
        with pytest.raises(ServiceError):
            Client(secret_key=KEY, base_url=BASE).verify_transaction("PPG-1001")


# --- errors


OPERATIONS: dict[str, Callable[[Client], Any]] = {
    "verify": lambda client: client.verify_transaction("PPG-1001"),
    "fetch": lambda client: client.fetch_page(18),
    "list": lambda client: client.list_pages(),
    "iterate": lambda client: list(client.iterate_pages()),
    "check": lambda client: client.check_slug("tea-box"),
    "create": lambda client: client.create_page(name="Tea box"),
    "update": lambda client: client.update_page(18, name="Tea box"),
}


def answer_all(wire: responses.RequestsMock, **answer: Any) -> None:
    for method, url in (
        ("GET", VERIFY),
        ("GET", PAGE_18),
        ("PUT", PAGE_18),
        ("GET", PAGE),
        ("POST", PAGE),
        ("GET", SLUG),
    ):
        wire.add(method, url, **answer)


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


@pytest.mark.parametrize("operation", OPERATIONS)
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
    if operation == "check":
        pytest.skip("a refusal is an answer there")
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


# --- pages


def test_case_c42_a_create_sends_the_amount_as_text_and_only_what_is_given(
    client: Client, wire: responses.RequestsMock
) -> None:
    wire.post(PAGE, json=good(page()))
    created = client.create_page(name="Tea box", amount=59980)
    assert isinstance(created, PageResource)
    assert sent(wire) == {"name": "Tea box", "amount": "59980"}


def test_a_create_sends_all_that_is_given(client: Client, wire: responses.RequestsMock) -> None:
    wire.post(PAGE, json=good(page()), status=201)
    fields = [{"display_name": "Name", "variable_name": "name"}]
    client.create_page(
        name="شاي",
        description="d",
        slug="tea-box",
        redirect_url="https://shop.example.test/",
        metadata={"a": 1},
        custom_fields=fields,
    )
    assert sent(wire) == {
        "name": "شاي",
        "description": "d",
        "slug": "tea-box",
        "redirect_url": "https://shop.example.test/",
        "metadata": {"a": 1},
        "custom_fields": fields,
    }


def test_case_c42_an_update_sends_the_amount_as_an_integer_and_only_what_is_given(
    client: Client, wire: responses.RequestsMock
) -> None:
    wire.put(PAGE_18, json=good(page()))
    client.update_page(18, name="Tea box", amount=1999)
    assert sent(wire) == {"name": "Tea box", "amount": 1999}
    client.update_page("18", name="Tea box", description="", active=False)
    assert sent(wire) == {"name": "Tea box", "description": "", "active": False}


@pytest.mark.parametrize("amount", [0, -5, True, 19.99, "1999"])
def test_an_amount_that_is_no_positive_int_is_refused_before_any_call(
    amount: Any, client: Client, wire: responses.RequestsMock
) -> None:
    with pytest.raises(ValueError, match="minor units"):
        client.create_page(name="Tea box", amount=amount)
    with pytest.raises(ValueError, match="minor units"):
        client.update_page(18, name="Tea box", amount=amount)
    assert len(wire.calls) == 0


@pytest.mark.parametrize("key", [None, True, 1.0, b"x"])
def test_a_page_is_named_by_id_or_slug(key: Any, client: Client) -> None:
    with pytest.raises(ValueError, match="its id or its slug"):
        client.fetch_page(key)


def test_a_slug_with_a_slash_stays_one_segment(
    client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(f"{BASE}/page/picbooker%2F1", json=good(page(slug="picbooker/1")))
    assert client.fetch_page("picbooker/1").slug == "picbooker/1"


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_what_cannot_be_a_segment_is_refused_before_any_call(
    value: str, wire: responses.RequestsMock
) -> None:
    asked: list[str] = []
    client = Client(secret_key=KEY, base_url=BASE, before_call=asked.append)
    for call in (client.fetch_page, client.check_slug, client.verify_transaction):
        with pytest.raises(InvalidReference):
            call(value)
    with pytest.raises(InvalidReference):
        client.update_page(value, name="x")
    assert (asked, len(wire.calls)) == ([], 0)


@pytest.mark.parametrize("code", [200, 201])
def test_a_slug_is_free_only_when_the_call_says_so(
    code: int, client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(SLUG, json={"status": True, "message": "Slug is available"}, status=code)
    assert client.check_slug("tea-box") is True


@pytest.mark.parametrize("code", [200, 400, 404, 409, 422])
def test_a_slug_is_taken_when_the_envelope_says_false(
    code: int, client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(SLUG, json=FALSE, status=code)
    assert client.check_slug("tea-box") is False


@pytest.mark.parametrize("envelope", [{"status": "true"}, {"status": 1}, {}, [], {"data": True}])
def test_a_slug_is_neither_free_nor_taken_when_nothing_is_said(
    envelope: Any, client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(SLUG, json=envelope)
    with pytest.raises(InvalidResponse):
        client.check_slug("tea-box")


# --- lists


def test_a_list_asks_with_paging_and_dates(client: Client, wire: responses.RequestsMock) -> None:
    wire.get(PAGE, json=good([page()], meta={"total": 1, "perPage": "3"}))
    zone = dt.timezone(dt.timedelta(hours=2))
    found = client.list_pages(
        per_page=3,
        page=2,
        from_=dt.datetime(2024, 3, 5, 14, 30, tzinfo=zone),
        to=dt.date(2024, 4, 1),
    )
    assert (found.total, found.per_page, [item.id for item in found.items]) == (1, 3, [18])
    assert wire.calls[0].request.url == (
        f"{PAGE}?perPage=3&page=2&from=2024-03-05T12%3A30%3A00Z&to=2024-04-01"
    )


def test_a_naive_datetime_is_refused(client: Client) -> None:
    naive = dt.datetime(2024, 3, 5)  # noqa: DTZ001
    for arguments in ({"from_": naive}, {"to": naive}):
        with pytest.raises(ValueError, match="aware"):
            client.list_pages(**arguments)


@pytest.mark.parametrize("number", [0, -1, True, "1"])
def test_paging_counts_from_one(number: Any, client: Client) -> None:
    with pytest.raises(ValueError, match="positive"):
        client.list_pages(page=number)
    with pytest.raises(ValueError, match="positive"):
        client.list_pages(per_page=number)


@pytest.mark.parametrize("data", [None, {}, "x", ...])
def test_a_list_that_is_no_array_is_not_believed(
    data: Any, client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(PAGE, json={key: value for key, value in good(data).items() if value is not ...})
    with pytest.raises(InvalidResponse):
        client.list_pages()


def serve_lists(wire: responses.RequestsMock, items: Callable[[int], list[Any]]) -> None:
    def answer(request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
        assert request.url is not None
        number = int(request.url.split("&page=")[1].split("&")[0])
        return 200, {}, json.dumps(good(items(number)))

    wire.add_callback("GET", PAGE, answer)


def numbered(first: int, last: int) -> list[Any]:
    return [page(id=number, slug=f"p{number}") for number in range(first, last)]


def test_case_c58_every_page_comes_once_though_the_lists_shift(
    client: Client, wire: responses.RequestsMock
) -> None:
    lists = {1: numbered(1, 51), 2: numbered(50, 100), 3: numbered(100, 121)}
    serve_lists(wire, lambda number: lists.get(number, []))
    assert [found.id for found in client.iterate_pages()] == list(range(1, 121))
    assert len(wire.calls) == 4


def test_case_c58_a_full_last_list_is_followed_by_an_empty_one(
    client: Client, wire: responses.RequestsMock
) -> None:
    serve_lists(wire, lambda number: numbered(1, 51) if number == 1 else [])
    assert len(list(client.iterate_pages())) == 50
    assert len(wire.calls) == 2


def test_case_c58_a_service_that_repeats_its_first_list_is_left(
    client: Client, wire: responses.RequestsMock
) -> None:
    serve_lists(wire, lambda _number: numbered(1, 51))
    assert len(list(client.iterate_pages())) == 50
    assert len(wire.calls) == 2


def test_case_c58_a_listing_without_end_is_reported(
    client: Client, wire: responses.RequestsMock
) -> None:
    serve_lists(wire, lambda number: numbered(number, number + 1))
    found = client.iterate_pages(per_page=1)
    first = [next(found).id for _page in range(MAX_LISTS)]
    assert len(first) == MAX_LISTS
    with pytest.raises(InvalidResponse):
        next(found)


def test_case_c58_pages_before_a_fault_are_given(
    client: Client, wire: responses.RequestsMock
) -> None:
    wire.get(PAGE, json=good(numbered(1, 51)))
    wire.get(PAGE, json=FALSE, status=500)
    found = client.iterate_pages()
    assert len([next(found) for _page in range(50)]) == 50
    with pytest.raises(ServiceUnavailable):
        next(found)


def test_case_c58_an_item_that_cannot_be_read_is_reported_after_all_others(
    client: Client, wire: responses.RequestsMock
) -> None:
    lists = {1: [*numbered(1, 3), page(id=None)], 2: numbered(3, 5)}
    serve_lists(wire, lambda number: lists.get(number, []))
    found = client.iterate_pages()
    assert [next(found).id for _page in range(4)] == [1, 2, 3, 4]
    with pytest.raises(InvalidResponse, match="1 listed pages cannot be read"):
        next(found)


def test_a_list_may_be_larger_than_a_transaction(
    client: Client, wire: responses.RequestsMock
) -> None:
    long = [page(id=number, slug=f"p{number}", description="x" * 9000) for number in range(300)]
    wire.get(PAGE, json=good(long))
    assert len(client.list_pages().items) == 300


# --- the guard before a call


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
