"""A page of the service, read strictly where money hangs on it."""

import datetime as dt
from typing import Any

import pytest

from payments_pages.client import PageList, PageResource
from payments_pages.exceptions import InvalidResponse
from tests.unit.client.payloads import page


def test_a_page_is_read_as_a_create_shows_it() -> None:
    found = PageResource.from_payload(page())
    assert (found.id, found.slug, found.currency, found.active) == (18, "tea-box", "ILS", True)
    assert found.created_at == dt.datetime(2024, 3, 5, 12, 26, 44, tzinfo=dt.UTC)
    assert (found.amount, found.redirect_url, found.custom_fields) == (None, "", ())
    assert "amount" not in found.present
    assert {"id", "slug", "createdAt"} <= found.present


def test_a_fuller_page_is_read_too() -> None:
    fields = [{"display_name": "Name", "variable_name": "name"}, "odd"]
    found = PageResource.from_payload(
        page(amount="10000", metadata={"a": 1}, custom_fields=fields, redirect_url=None)
    )
    assert found.amount == 10000
    assert found.custom_fields == ({"display_name": "Name", "variable_name": "name"},)
    assert found.metadata == {"a": 1}
    assert "amount" in found.present


@pytest.mark.parametrize("number", [None, ..., "18", 18.0, True, 2**63])
def test_a_page_without_an_integer_id_is_refused(number: Any) -> None:
    with pytest.raises(InvalidResponse):
        PageResource.from_payload(page(id=number))


@pytest.mark.parametrize("slug", [None, ..., "", " ", 7, "a\x00", "s" * 256])
def test_a_page_without_a_usable_slug_is_refused(slug: Any) -> None:
    with pytest.raises(InvalidResponse):
        PageResource.from_payload(page(slug=slug))


@pytest.mark.parametrize("amount", ["10000.00", True, 10000.4, "free", [1]])
def test_an_unreadable_price_does_not_become_any_price(amount: Any) -> None:
    with pytest.raises(InvalidResponse):
        PageResource.from_payload(page(amount=amount))


@pytest.mark.parametrize(
    ("active", "read_as"),
    [
        (True, True),
        (1, True),
        (..., True),
        (False, False),
        (0, False),
        (None, False),
        ("true", False),
    ],
)
def test_a_page_is_active_as_created_or_as_it_says(active: Any, read_as: bool) -> None:
    assert PageResource.from_payload(page(active=active)).active is read_as


def test_an_impossible_date_of_a_page_is_set_aside() -> None:
    found = PageResource.from_payload(page(createdAt="2023-02-30T01:49:57.514Z"))
    assert found.created_at is None
    assert found.unreadable == {"createdAt": "2023-02-30T01:49:57.514Z"}


def test_a_list_keeps_what_it_can_read_and_says_what_it_cannot() -> None:
    meta = {"total": 3, "perPage": "50", "page": 1.0}
    found = PageList.from_payload([page(), page(id=None), page(id=19)], meta)
    assert [item.id for item in found.items] == [18, 19]
    assert len(found.skipped) == 1
    assert (found.total, found.per_page, found.page) == (3, 50, 1)


@pytest.mark.parametrize("meta", [None, [], "x", {"total": "many"}])
def test_a_list_needs_no_meta(meta: Any) -> None:
    assert PageList.from_payload([], meta) == PageList(items=())
