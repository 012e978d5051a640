"""Hold client, sandbox and recorded bodies to the interface's own tables, field by field."""

import datetime as dt
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
import responses

from payments_pages import exceptions
from payments_pages.client import Client, read_metadata
from payments_pages.client import transport as transport_module
from payments_pages.sandbox import Sandbox
from tests.unit.client.operations import BASE, KEY, OPERATIONS, answer_all
from tests.unit.contract import interface
from tests.unit.contract.interface import differences

RECORDED = {
    path.stem: json.loads(path.read_text())
    for path in sorted((Path(__file__).parent / "recorded").glob("*.json"))
}
TABLES = {"create": interface.CREATED_PAGE, "verify": interface.TRANSACTION}


def plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.datetime) else value


# --- the client reads what is recorded


@pytest.mark.parametrize("name", RECORDED)
def test_the_client_reads_each_recorded_body(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "PAUSES", (0, 0))
    recorded = RECORDED[name]
    client = Client(secret_key=KEY, base_url=BASE)
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        answer_all(wire, status=recorded["status"], json=recorded["body"])
        if "error" in recorded:
            with pytest.raises(exceptions.ServiceError) as caught:
                OPERATIONS[recorded["operation"]](client)
            assert type(caught.value).__name__ == recorded["error"]
            return
        found = OPERATIONS[recorded["operation"]](client)
    expected = recorded["expect"]
    if isinstance(expected, dict):
        assert {field: field_of(found, field) for field in expected} == expected
    else:
        assert found is expected


def field_of(found: Any, field: str) -> Any:
    """Read what the recording names; `metadata_object` is metadata as the path reads it."""
    if field == "metadata_object":
        return read_metadata(found.metadata)
    return plain(getattr(found, field))


def test_each_recorded_body_says_where_it_is_from() -> None:
    assert {recorded["source"] for recorded in RECORDED.values()} == {"interface", "known fact"}
    assert {recorded["operation"] for recorded in RECORDED.values()} == {
        "create", "verify", "fetch", "update", "list", "check",
    }  # fmt: skip


@pytest.mark.parametrize("name", [n for n, r in RECORDED.items() if r["source"] == "interface"])
def test_what_is_marked_interface_is_the_interfaces_table(name: str) -> None:
    recorded = RECORDED[name]
    assert differences(interface.ENVELOPE, recorded["body"]) == []
    assert differences(TABLES[recorded["operation"]], recorded["body"]["data"]) == []


# --- the sandbox produces them


class Raw:
    """Call the sandbox with nothing of ours between."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def __call__(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        answer = requests.request(
            method,
            self.sandbox.base_url + path,
            headers={"authorization": f"Bearer {self.sandbox.secret_key}"},
            timeout=10,
            **more,
        )
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("application/json")
        body: dict[str, Any] = answer.json()
        assert body["status"] is True
        return body


@pytest.fixture
def raw() -> Any:
    with Sandbox(currency="JOD") as sandbox:
        yield Raw(sandbox)


CREATIONS = [
    {"name": "Tea box"},
    {"name": "شاي", "slug": "tea-box", "amount": "10000", "description": "12 bags"},
    {
        "name": "Tea box",
        "redirect_url": "https://shop.example.test/back/",
        "metadata": {"logo": "https://shop.example.test/logo.png"},
        "custom_fields": [{"display_name": "Size", "variable_name": "size"}],
    },
]


@pytest.mark.parametrize("creation", CREATIONS)
def test_the_sandbox_answers_a_create_as_the_interface_shows(
    raw: Raw, creation: dict[str, Any]
) -> None:
    body = raw("POST", "/page", json=creation)
    assert differences(interface.ENVELOPE, body) == []
    assert differences(interface.CREATED_PAGE, body["data"]) == []
    assert body["data"]["active"] is True
    assert body["data"]["slug"]


@pytest.mark.parametrize("how", ["paid on the page", "added"])
def test_the_sandbox_answers_a_verify_as_the_interface_shows(raw: Raw, how: str) -> None:
    raw.sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
    if how == "added":
        reference = "PPG-1001"
        raw.sandbox.add_transaction(reference)
    else:
        reference = raw.sandbox.pay("tea-box")
    body = raw("GET", f"/transaction/verify/{reference}")
    assert differences(interface.ENVELOPE, body) == []
    assert differences(interface.TRANSACTION, body["data"]) == []
    assert (body["data"]["reference"], body["data"]["status"]) == (reference, "success")


def test_the_sandbox_shows_pages_elsewhere_with_at_least_the_interfaces_fields(raw: Raw) -> None:
    """The bodies of list, fetch and update are not shown: more than a create's is a known fact."""
    page = raw("POST", "/page", json=CREATIONS[1])["data"]
    update = {"name": "Tea", "amount": 12000, "description": "new", "active": False}
    found = [
        raw("GET", f"/page/{page['id']}")["data"],
        raw("GET", "/page/tea-box")["data"],
        raw("PUT", "/page/tea-box", json=update)["data"],
        *raw("GET", "/page", params={"perPage": 50, "page": 1})["data"],
    ]
    assert len(found) == 4
    for shown in found:
        assert differences(interface.CREATED_PAGE, shown, more=True) == []
    assert (found[-1]["active"], found[-1]["amount"]) == (False, 12000)


def test_the_sandbox_takes_amounts_as_the_interface_says(raw: Raw) -> None:
    key = {"authorization": f"Bearer {raw.sandbox.secret_key}"}
    page = raw("POST", "/page", json={"name": "A", "amount": "10000"})["data"]
    for method, path, amount in (("POST", "/page", 10000), ("PUT", f"/page/{page['id']}", "1")):
        answer = requests.request(
            method,
            raw.sandbox.base_url + path,
            json={"name": "A", "amount": amount},
            headers=key,
            timeout=10,
        )
        assert answer.status_code == 400
        assert answer.json()["status"] is False


# --- the client asks as it may


def test_the_client_sends_only_what_the_interface_accepts() -> None:
    with Sandbox() as sandbox:
        client = Client(secret_key=sandbox.secret_key, base_url=sandbox.base_url)
        page = client.create_page(
            name="Tea",
            amount=10000,
            description="12 bags",
            slug="tea-box",
            redirect_url="https://shop.example.test/",
            metadata={"logo": "x"},
            custom_fields=[{"display_name": "Size", "variable_name": "size"}],
        )
        client.create_page(name="Tea")
        client.update_page(page.id, name="Tea", amount=1, description="", active=False)
        client.update_page("tea-box", name="Tea")
        today = dt.date(2024, 3, 5)
        client.list_pages(
            per_page=10, page=2, from_=today, to=dt.datetime(2024, 3, 6, tzinfo=dt.UTC)
        )
        client.check_slug("free")
        requests_made = sandbox.requests
    tables = {"POST": interface.CREATE_REQUEST, "PUT": interface.UPDATE_REQUEST}
    sent = [request for request in requests_made if request.method in tables]
    assert len(sent) == 4
    for request in sent:
        body = json.loads(request.body)
        assert differences(tables[request.method], body, optional=True) == []
        assert "name" in body
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert headers["content-type"] == "application/json"
    (listing,) = [request for request in requests_made if request.operation == "list"]
    query = parse_qs(urlsplit(f"?{listing.query}").query)
    assert set(query) == interface.LIST_QUERY
    assert query["from"] == ["2024-03-05"]


# --- the tables can fail


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"amount": "10000"}, "amount has the wrong type"),
        ({"amount": True}, "amount has the wrong type"),
        ({"log": {}}, "log has the wrong type"),
        ({"fee": 1}, "fee is not in the table"),
        ({"currency": "ils"}, "currency has the wrong type"),
    ],
)
def test_a_departure_from_the_tables_is_found(change: dict[str, Any], complaint: str) -> None:
    data = {**RECORDED["verify"]["body"]["data"], **change}
    assert any(found.startswith(complaint) for found in differences(interface.TRANSACTION, data))
    del data["status"]
    assert "status is missing" in differences(interface.TRANSACTION, data)
