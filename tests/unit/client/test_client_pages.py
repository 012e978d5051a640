"""Pages: created, changed, listed."""

import datetime as dt
from typing import Any

import pytest
import responses

from payments_pages.client import Client, PageResource
from payments_pages.exceptions import (
    InvalidReference,
    InvalidResponse,
)
from tests.unit.client.operations import BASE, FALSE, KEY, PAGE, PAGE_18, SLUG, good, sent
from tests.unit.client.payloads import page


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


def test_a_list_may_be_larger_than_a_transaction(
    client: Client, wire: responses.RequestsMock
) -> None:
    long = [page(id=number, slug=f"p{number}", description="x" * 9000) for number in range(300)]
    wire.get(PAGE, json=good(long))
    assert len(client.list_pages().items) == 300
