"""The sandbox creates, fetches and updates pages as the interface says."""

import re
from typing import Any

import pytest
import requests

from payments_pages.sandbox import Sandbox

CREATED = {
    "id", "name", "description", "domain", "slug", "currency", "active", "createdAt", "updatedAt",
}  # fmt: skip
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


# Authentication


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer sk_test_other", "Basic sk_test_tests",
               "sk_test_tests", "Bearer sk_test_tests2", "Bearer \u00e9"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/page", "/transaction/verify/A-1", "/elsewhere"])
def test_without_the_key_nothing_is_told(
    sandbox: Sandbox, plain: requests.Session, header: str | None, path: str
) -> None:
    sandbox.add_transaction("A-1")
    headers = {} if header is None else {"authorization": header.encode("latin-1")}
    answer = plain.get(sandbox.base_url + path, headers=headers)
    assert answer.status_code == 401
    assert answer.json() == {"status": False, "message": "Invalid key"}


def test_a_refused_create_creates_nothing(sandbox: Sandbox, plain: requests.Session) -> None:
    assert plain.post(f"{sandbox.base_url}/page", json={"name": "Tea"}).status_code == 401
    assert sandbox.state.pages() == []


@pytest.mark.parametrize(
    ("key", "domain"), [("sk_test_1", "test"), ("sk_live_1", "live"), ("other", "test")]
)
def test_the_key_decides_the_mode(key: str, domain: str) -> None:
    with Sandbox(secret_key=key) as sandbox:
        sandbox.add_page(slug="tea", amount=1)
        reference = sandbox.pay("tea")
        headers = {"Authorization": f"Bearer {key}"}
        page = requests.get(f"{sandbox.base_url}/page/tea", headers=headers)
        verified = requests.get(
            f"{sandbox.base_url}/transaction/verify/{reference}", headers=headers
        )
    assert page.json()["data"]["domain"] == verified.json()["data"]["domain"] == domain


def test_unknown_paths_and_methods_are_404(api: Any) -> None:
    for method, path in [
        ("GET", "/"), ("GET", "/pages"), ("DELETE", "/page/18"), ("POST", "/page/18"),
        ("GET", "/transaction/verify/"), ("GET", "/transaction"), ("GET", "/page/"),
        ("POST", "/transaction/verify/A"), ("GET", "/page/check_slug_availability/"),
    ]:  # fmt: skip
        answer = api(method, path)
        assert (answer.status_code, answer.json()["status"]) == (404, False), (method, path)


# Create


def test_a_create_answers_exactly_the_interfaces_fields(api: Any) -> None:
    answer = api("POST", "/page", json={
        "name": "شاي", "slug": "tea-box", "amount": "10000", "description": "Tea",
        "redirect_url": "https://shop.example/back", "metadata": {"logo_url": "https://x.example"},
        "custom_fields": [{"display_name": "Size", "variable_name": "size"}],
    })  # fmt: skip
    body = answer.json()
    assert answer.status_code == 200
    assert body["status"] is True
    assert set(body) == {"status", "message", "data"}
    assert set(body["data"]) == CREATED
    assert body["data"]["name"] == "شاي"
    assert body["data"]["currency"] == "ILS"
    assert body["data"]["active"] is True
    assert type(body["data"]["id"]) is int
    assert TIME.fullmatch(body["data"]["createdAt"])
    assert TIME.fullmatch(body["data"]["updatedAt"])


def test_a_create_keeps_all_it_was_sent(api: Any) -> None:
    sent = {
        "slug": "tea-box", "redirect_url": "http://127.0.0.1:8000/back?a=1",
        "metadata": {"a": [1]}, "custom_fields": [{"display_name": "Size"}],
    }  # fmt: skip
    api("POST", "/page", json={"name": "Tea", "amount": "0123", **sent})
    fetched = api("GET", "/page/tea-box").json()["data"]
    assert fetched["amount"] == 123
    assert {name: fetched[name] for name in sent} == sent


def test_a_page_needs_only_a_name_and_gets_a_slug_of_its_own(api: Any) -> None:
    slugs = {api("POST", "/page", json={"name": "Tea"}).json()["data"]["slug"] for _ in range(3)}
    assert len(slugs) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9]{9}", slug) for slug in slugs)
    assert api("GET", f"/page/{slugs.pop()}").json()["data"]["amount"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": None}, {"name": ""}, {"name": 5},
        {"amount": 10000}, {"amount": "100.00"}, {"amount": "-1"}, {"amount": ""},
        {"amount": None}, {"amount": "١٢٣"}, {"amount": "9" * 20}, {"amount": 1.5},
        {"slug": ""}, {"slug": 7}, {"slug": None}, {"description": 5}, {"description": None},
        {"redirect_url": "/back"}, {"redirect_url": "javascript:alert(1)"}, {"redirect_url": 1},
        {"redirect_url": "https://"}, {"redirect_url": "https://["},
        {"metadata": []}, {"metadata": "{}"}, {"custom_fields": {}}, {"custom_fields": "x"},
    ],
)  # fmt: skip
def test_a_wrong_create_is_refused_whole(sandbox: Sandbox, api: Any, wrong: dict[str, Any]) -> None:
    answer = api("POST", "/page", json={"name": "Tea", **wrong})
    assert answer.status_code == 400
    assert answer.json()["status"] is False
    assert answer.json()["type"] == "validation_error"
    assert sandbox.state.pages() == []


def test_a_missing_name_is_called_missing(api: Any) -> None:
    answer = api("POST", "/page", json={"amount": "1"})
    assert answer.json()["code"] == "missing_params"


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("text/plain", b'{"name": "Tea"}', 400),
        ("application/x-www-form-urlencoded", b"name=Tea", 400),
        ("", b'{"name": "Tea"}', 400),
        ("application/json", b'{"name": ', 400),
        ("application/json", b"", 400),
        ("application/json", b"[]", 400),
        ("application/json", b'{"name": "Tea", "x": NaN}', 400),
        ("application/json", b"\xff", 400),
        ("application/json", b"[" * 100_000, 400),
        ("application/json; charset=utf-8", b'{"name": "Tea"}', 200),
        ("Application/JSON", b'{"name": "Tea"}', 200),
    ],
)
def test_bodies_must_be_json_and_say_so(
    sandbox: Sandbox, api: Any, method: str, content_type: str, body: bytes, status: int
) -> None:
    sandbox.add_page(slug="tea")
    path = "/page" if method == "POST" else "/page/tea"
    headers = {"Content-Type": content_type} if content_type else {}
    assert api(method, path, data=body, headers=headers).status_code == status


def test_a_taken_slug_is_refused_and_case_tells_slugs_apart(sandbox: Sandbox, api: Any) -> None:
    sandbox.add_page(slug="tea-box", name="First")
    answer = api("POST", "/page", json={"name": "Second", "slug": "tea-box"})
    assert (answer.status_code, answer.json()["status"]) == (400, False)
    assert api("GET", "/page/tea-box").json()["data"]["name"] == "First"
    assert api("POST", "/page", json={"name": "Third", "slug": "Tea-box"}).status_code == 200


def test_new_pages_have_the_accounts_currency(sandbox: Sandbox, api: Any) -> None:
    sandbox.set_account(currency="JOD")
    assert api("POST", "/page", json={"name": "Tea"}).json()["data"]["currency"] == "JOD"


# Fetch and update


def test_a_page_is_fetched_by_id_or_slug(sandbox: Sandbox, api: Any) -> None:
    page = sandbox.add_page(slug="شاي/1", amount=500)
    by_id = api("GET", f"/page/{page['id']}")
    by_slug = api("GET", "/page/%D8%B4%D8%A7%D9%8A%2F1")
    assert by_id.status_code == by_slug.status_code == 200
    assert by_id.json()["data"] == by_slug.json()["data"] == page
    assert set(page) > CREATED


@pytest.mark.parametrize("key", ["99", "nothing", "TEA", "9" * 30, "18x"])
def test_an_unknown_page_is_404(sandbox: Sandbox, api: Any, key: str) -> None:
    sandbox.add_page(slug="tea")
    for method, options in [("GET", {}), ("PUT", {"json": {"name": "Tea"}})]:
        answer = api(method, f"/page/{key}", **options)
        assert answer.status_code == 404
        assert answer.json() == {"status": False, "message": "Page not found"}


def test_an_update_changes_only_what_is_sent(sandbox: Sandbox, api: Any) -> None:
    before = sandbox.add_page(
        slug="tea", amount=500, description="Old", updatedAt="2024-01-01T00:00:00.000Z"
    )
    after = api("PUT", "/page/tea", json={"name": "New", "slug": "other"}).json()["data"]
    assert after["updatedAt"] > before["updatedAt"]
    assert after == {**before, "name": "New", "updatedAt": after["updatedAt"]}
    api("PUT", f"/page/{before['id']}", json={"name": "New", "amount": 7, "description": "",
                                              "active": False})  # fmt: skip
    changed = api("GET", "/page/tea").json()["data"]
    assert (changed["amount"], changed["description"], changed["active"]) == (7, "", False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": None}, {"name": ""}, {"amount": "500"}, {"amount": True}, {"amount": -1},
        {"amount": 1.0}, {"amount": None}, {"active": "false"}, {"active": 0}, {"active": None},
        {"description": 1},
    ],
)  # fmt: skip
def test_a_wrong_update_is_refused_whole(sandbox: Sandbox, api: Any, wrong: dict[str, Any]) -> None:
    page = sandbox.add_page(slug="tea", amount=500)
    assert api("PUT", "/page/tea", json={"name": "New", **wrong}).status_code == 400
    assert sandbox.state.find_page("tea") == page


def test_an_update_without_a_name_is_refused(sandbox: Sandbox, api: Any) -> None:
    sandbox.add_page(slug="tea")
    answer = api("PUT", "/page/tea", json={"active": False})
    assert (answer.status_code, answer.json()["code"]) == (400, "missing_params")


# Slug check


def test_a_slug_is_free_or_taken(sandbox: Sandbox, api: Any) -> None:
    sandbox.add_page(slug="شاي")
    free = api("GET", "/page/check_slug_availability/coffee")
    assert free.status_code == 200
    assert free.json() == {"status": True, "message": "Slug is available"}
    path = "/page/check_slug_availability/%D8%B4%D8%A7%D9%8A"
    taken = api("GET", path)
    assert taken.status_code == 400
    assert taken.json() == {"status": False, "message": "Slug is already taken"}
    sandbox.set_account(slug_taken_status=404)
    assert api("GET", path).status_code == 404


def test_an_id_is_no_slug_to_the_slug_check(sandbox: Sandbox, api: Any) -> None:
    page = sandbox.add_page(slug="tea")
    assert api("GET", f"/page/check_slug_availability/{page['id']}").status_code == 200
