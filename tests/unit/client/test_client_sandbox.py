"""All six operations over real HTTP, against the sandbox."""

import datetime as dt
from collections.abc import Iterator

import pytest

from payments_pages.client import Client, Limits
from payments_pages.exceptions import (
    AuthenticationFailed,
    DeadlineExceeded,
    InvalidResponse,
    NotFound,
    RateLimited,
    RequestRefused,
    ServiceUnavailable,
)
from payments_pages.sandbox import Sandbox


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(currency="JOD") as sandbox:
        yield sandbox


@pytest.fixture
def client(sandbox: Sandbox) -> Client:
    return Client(
        secret_key=sandbox.secret_key, base_url=sandbox.base_url, limits=Limits(deadline=3)
    )


def test_a_page_is_created_fetched_changed_and_switched_off(
    sandbox: Sandbox, client: Client
) -> None:
    created = client.create_page(
        name="شاي بالنعناع",
        amount=12345,
        slug="tea-box",
        redirect_url="https://shop.example.test/back/",
        metadata={"token": "t"},
        custom_fields=[{"display_name": "Name", "variable_name": "name"}],
    )
    assert (created.name, created.slug, created.currency) == ("شاي بالنعناع", "tea-box", "JOD")
    assert (created.domain, created.active) == ("test", True)
    assert created.created_at is not None
    for key in (created.id, "tea-box"):
        found = client.fetch_page(key)
        assert (found.id, found.amount, found.metadata) == (created.id, 12345, {"token": "t"})
        assert found.redirect_url == "https://shop.example.test/back/"
    changed = client.update_page(created.id, name="Tea", amount=1999)
    assert (changed.id, changed.name) == (created.id, "Tea")
    assert client.fetch_page(created.id).amount == 1999
    client.update_page("tea-box", name="Tea", active=False)
    switched_off = client.fetch_page(created.id)
    assert (switched_off.active, switched_off.amount) == (False, 1999)


def test_the_service_makes_a_slug_when_none_is_sent(client: Client) -> None:
    first, second = client.create_page(name="A"), client.create_page(name="A")
    assert first.slug
    assert first.slug != second.slug
    assert client.fetch_page(first.slug).amount is None


def test_a_slug_is_free_until_it_is_taken(sandbox: Sandbox, client: Client) -> None:
    for slug in ("tea-box", "شاي", "a/b"):
        assert client.check_slug(slug) is True
    client.create_page(name="Tea", slug="tea-box")
    assert client.check_slug("tea-box") is False
    with pytest.raises(RequestRefused) as caught:
        client.create_page(name="Tea", slug="tea-box")
    assert caught.value.maybe_done is False


def test_unknown_pages_and_references_are_not_found(client: Client) -> None:
    with pytest.raises(NotFound):
        client.fetch_page("nowhere")
    with pytest.raises(NotFound):
        client.update_page(404, name="x")
    with pytest.raises(NotFound):
        client.verify_transaction("PPG-UNKNOWN")


def test_all_pages_are_listed_however_many(sandbox: Sandbox, client: Client) -> None:
    made = {sandbox.add_page(name=f"P{number}", slug=f"p{number}")["id"] for number in range(7)}
    first = client.list_pages(per_page=3)
    assert (len(first.items), first.total, first.per_page, first.page) == (3, 7, 3, 1)
    lists = [client.list_pages(per_page=3, page=number) for number in (1, 2, 3, 4)]
    assert [len(found.items) for found in lists] == [3, 3, 1, 0]
    assert {page.id for found in lists for page in found.items} == made
    tomorrow = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    assert client.list_pages(from_=tomorrow).items == ()
    assert len(client.list_pages(to=tomorrow).items) == 7
    assert len(client.list_pages(from_=dt.date(2020, 1, 1)).items) == 7


def test_a_payment_is_verified(sandbox: Sandbox, client: Client) -> None:
    sandbox.add_page(name="Tea box", slug="tea-box", amount=10000, currency="ILS")
    reference = sandbox.pay("tea-box", status="success")
    found = client.verify_transaction(reference)
    assert (found.reference, found.status, found.domain) == (reference, "success", "test")
    assert (found.amount, found.currency) == (10000, "ILS")
    assert found.paid_at is not None
    assert found.authorization
    assert "authorization_code" not in found.authorization
    assert found.customer_email
    assert sandbox.verify_calls(reference) == 1


def test_a_reference_arrives_as_one_segment(sandbox: Sandbox, client: Client) -> None:
    sandbox.add_transaction("a=b.c-d")
    assert client.verify_transaction("a=b.c-d").reference == "a=b.c-d"
    for reference in ("../../page/18", "%2e%2e", "a/b", "a?b=1"):
        with pytest.raises(NotFound):
            client.verify_transaction(reference)
    assert all("/transaction/verify/" in request.path for request in sandbox.requests)


def test_a_wrong_key_is_our_fault_and_not_the_payers(sandbox: Sandbox) -> None:
    sandbox.add_transaction("PPG-1001")
    other = Client(secret_key="sk_test_other", base_url=sandbox.base_url)
    with pytest.raises(AuthenticationFailed):
        other.verify_transaction("PPG-1001")


def test_faults_of_the_service_are_named(sandbox: Sandbox, client: Client) -> None:
    sandbox.add_transaction("PPG-1001")
    for fault, error in (
        ({"kind": "status", "status": 503}, ServiceUnavailable),
        ({"kind": "html", "status": 502}, ServiceUnavailable),
        ({"kind": "html", "status": 404}, InvalidResponse),
        ({"kind": "truncated"}, InvalidResponse),
        ({"kind": "empty"}, InvalidResponse),
        ({"kind": "drop"}, ServiceUnavailable),
        ({"kind": "redirect"}, InvalidResponse),
        ({"kind": "wrong_reference"}, InvalidResponse),
    ):
        sandbox.faults.add(operation="verify", **fault)
        with pytest.raises(error):
            client.verify_transaction("PPG-1001")
        sandbox.faults.clear()
    assert client.verify_transaction("PPG-1001").status == "success"


def test_a_limit_says_when_to_come_back(sandbox: Sandbox, client: Client) -> None:
    sandbox.add_transaction("PPG-1001")
    sandbox.faults.add(
        operation="verify", kind="status", status=429, headers={"Retry-After": "30"}, times=1
    )
    with pytest.raises(RateLimited) as caught:
        client.verify_transaction("PPG-1001")
    assert caught.value.retry_after == 30


def test_a_hanging_service_holds_a_caller_no_longer_than_the_deadline(sandbox: Sandbox) -> None:
    client = Client(
        secret_key=sandbox.secret_key, base_url=sandbox.base_url, limits=Limits(deadline=0.4)
    )
    sandbox.add_transaction("PPG-1001")
    sandbox.faults.add(operation="verify", kind="hang", seconds=20, times=1)
    with pytest.raises(DeadlineExceeded):
        client.verify_transaction("PPG-1001")
    assert client.verify_transaction("PPG-1001").status == "success"


def test_a_create_whose_answer_was_lost_may_be_done_and_can_be_looked_up(
    sandbox: Sandbox, client: Client
) -> None:
    sandbox.faults.add(operation="create", kind="answer_lost", times=1)
    with pytest.raises(ServiceUnavailable) as caught:
        client.create_page(name="Tea", slug="tea-box")
    assert caught.value.maybe_done is True
    assert client.fetch_page("tea-box").name == "Tea"
    assert sandbox.calls("POST", "/page") == 1
