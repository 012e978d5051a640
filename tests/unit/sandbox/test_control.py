"""The control API: what it does, and whom it refuses."""

import base64
from typing import Any

import pytest
import requests
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.control import Control, is_loopback


@pytest.fixture
def control(sandbox: Sandbox, plain: requests.Session) -> Any:
    def ask(method: str, path: str, **options: Any) -> Any:
        answer = plain.request(method, f"{sandbox.control_url}/{path}", **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return ask


def test_the_state_shows_no_secret(sandbox: Sandbox, control: Any) -> None:
    sandbox.set_account(webhook_secret="whsec_hidden")
    sandbox.add_page(slug="tea", amount=1)
    sandbox.pay("tea", reference="A-1")
    sandbox.faults.add(kind="raw", body=b"\xff", operation="verify")
    state = control("GET", "state")
    assert [page["slug"] for page in state["pages"]] == ["tea"]
    assert [data["reference"] for data in state["transactions"]] == ["A-1"]
    assert state["faults"][0]["kind"] == "raw"
    assert state["account"]["currency"] == "ILS"
    assert state["domain"] == "test"
    assert "whsec_hidden" not in str(state)
    assert sandbox.secret_key not in str(state)


def test_the_account_is_changed(sandbox: Sandbox, control: Any, merchant: Any) -> None:
    control("POST", "account", json={"currency": "JOD", "webhook_url": merchant.url})
    assert sandbox.add_page()["currency"] == "JOD"
    assert sandbox.state.account.webhook_url == merchant.url


def test_pages_are_made_and_changed(sandbox: Sandbox, control: Any) -> None:
    made = control("POST", "pages", json={"name": "Tea", "slug": "tea", "amount": 5,
                                          "currency": "USD"})  # fmt: skip
    assert (made["slug"], made["currency"]) == ("tea", "USD")
    control("POST", f"pages/{made['id']}", json={"active": False, "currency": "ILS"})
    page = sandbox.state.find_page("tea")
    assert page is not None
    assert (page["active"], page["currency"]) == (False, "ILS")


def test_a_page_is_forgotten_and_its_id_stays_with_it(sandbox: Sandbox, control: Any) -> None:
    first, second = sandbox.add_page(slug="tea"), sandbox.add_page(slug="milk")
    assert control("DELETE", "pages/tea")["id"] == first["id"]
    assert sandbox.state.pages() == [second]
    assert sandbox.add_page(slug="tea")["id"] > second["id"]


def test_a_person_pays(sandbox: Sandbox, control: Any) -> None:
    sandbox.add_page(slug="tea", amount=500)
    data = control("POST", "pay", json={"page": "tea", "status": "failed", "reference": "A-1",
                                        "email": "r@example.test", "channel": "pos"})  # fmt: skip
    assert data == sandbox.transaction("A-1")
    assert (data["status"], data["amount"], data["channel"]) == ("failed", 500, "pos")
    assert data["customer"]["email"] == "r@example.test"
    assert control("POST", "pay", json={"page": "tea", "late": 60})["status"] == "pending"


def test_transactions_are_made_and_changed(sandbox: Sandbox, control: Any) -> None:
    control("POST", "transactions", json={"reference": "A/1", "amount": 5})
    control("POST", "transactions/A%2F1", json={"status": "reversed"})
    data = sandbox.transaction("A/1")
    assert data is not None
    assert (data["amount"], data["status"]) == (5, "reversed")


def test_faults_are_declared_and_taken_back(sandbox: Sandbox, control: Any, api: Any) -> None:
    sandbox.add_transaction("A-1")
    fault = {"kind": "status", "status": 503, "operation": "verify", "times": 1}
    assert control("POST", "faults", json=fault)["used"] == 0
    assert [api.verify("A-1").status_code for _ in range(2)] == [503, 200]
    raw = {"kind": "raw", "body_base64": base64.b64encode(b"\xff\x00").decode()}
    control("POST", "faults", json=raw)
    assert api.verify("A-1").content == b"\xff\x00"
    assert control("DELETE", "faults") == []
    assert api.verify("A-1").status_code == 200


def test_requests_are_listed_and_counted(sandbox: Sandbox, control: Any, api: Any) -> None:
    for reference in ["A-1", "A-1", "B-2"]:
        api.verify(reference)
    api("POST", "/page", json={"name": "شاي"})
    listed = control("GET", "requests")
    assert [item["operation"] for item in listed] == ["verify"] * 3 + ["create"]
    assert "name" in listed[-1]["body"]
    assert sandbox.secret_key not in str(listed)
    assert control("GET", "calls?operation=verify&reference=A-1") == {"calls": 2}
    assert control("GET", "calls?operation=verify") == {"calls": 3}
    assert control("GET", "calls?method=POST&path=/page") == {"calls": 1}


def test_webhooks_are_sent_and_listed(sandbox: Sandbox, control: Any, merchant: Any) -> None:
    asked = {"reference": "A-1", "event": "charge.success", "times": 2}
    assert control("POST", "webhooks", json={**asked, "url": merchant.url}) == {
        "statuses": [200, 200]
    }
    sandbox.set_account(webhook_url=merchant.url)
    control("POST", "webhooks", json={"reference": "A-1", "body": "odd"})
    assert merchant.received[-1][1] == b"odd"
    assert [item["attempt"] for item in control("GET", "webhooks")] == [1, 2, 1]


def test_reset_forgets_everything(sandbox: Sandbox, control: Any, api: Any, merchant: Any) -> None:
    sandbox.set_account(currency="USD", secret_key="sk_test_other")
    sandbox.add_page(slug="tea", amount=1)
    sandbox.pay("tea", reference="A-1")
    sandbox.send_webhook(merchant.url, "A-1")
    sandbox.faults.add(kind="status")
    api.verify("A-1")
    assert control("POST", "reset") == {}
    assert sandbox.requests == []
    assert sandbox.deliveries == []
    assert sandbox.verify_calls() == sandbox.calls("GET", "/transaction/verify/A-1") == 0
    assert api("GET", "/page").json()["data"] == []
    assert api.verify("A-1").status_code == 404
    assert sandbox.add_page()["currency"] == "ILS"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "account", {"colour": "red"}), ("POST", "account", {"currency": 5}),
        ("POST", "account", {"currency": ""}), ("POST", "account", {"webhook_algorithm": "md5"}),
        ("POST", "account", {"webhook_delays": 5}), ("POST", "account", {"webhook_delays": [-1]}),
        ("POST", "account", {"late_seconds": "1"}), ("POST", "account", {"max_per_page": 0}),
        ("POST", "account", {"reference_params": [1]}), ("POST", "account", {"secret_key": " "}),
        ("POST", "pages", {}), ("POST", "pages", {"name": "Tea", "colour": "red"}),
        ("POST", "pages/nothing", {"active": False}), ("POST", "pay", {"page": "nothing"}),
        ("POST", "pay", {"page": "free"}), ("POST", "pay", {}),
        ("POST", "transactions", {}), ("POST", "transactions", {"reference": "TAKEN"}),
        ("POST", "transactions/nothing", {}), ("POST", "faults", {"kind": "meteor"}),
        ("POST", "faults", {}), ("POST", "faults", {"kind": "raw", "body_base64": "?"}),
        ("POST", "faults", {"kind": "run", "function": "os.abort"}),
        ("POST", "webhooks", {"reference": "A"}), ("POST", "webhooks", {"url": "http://x"}),
        ("GET", "calls", None), ("POST", "account", []), ("POST", "account", "text"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_answered_with_the_reason(
    sandbox: Sandbox, plain: requests.Session, method: str, path: str, body: Any
) -> None:
    sandbox.add_page(slug="free")
    sandbox.add_transaction("TAKEN")
    before = (sandbox.state.account, sandbox.state.pages(), sandbox.state.transactions())
    answer = plain.request(method, f"{sandbox.control_url}/{path}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert before == (sandbox.state.account, sandbox.state.pages(), sandbox.state.transactions())


def test_a_body_that_is_not_json_is_refused(sandbox: Sandbox, plain: requests.Session) -> None:
    assert plain.post(f"{sandbox.control_url}/reset", data=b"{").status_code == 400


def test_a_wrong_secret_is_not_quoted(sandbox: Sandbox, plain: requests.Session) -> None:
    answer = plain.post(f"{sandbox.control_url}/account", json={"secret_key": ["LEAKME"]})
    assert answer.status_code == 400
    assert "LEAKME" not in answer.text


def test_what_is_no_control_is_404(sandbox: Sandbox, plain: requests.Session) -> None:
    for method, path in [("GET", ""), ("GET", "reset"), ("POST", "state"), ("DELETE", "state"),
                         ("POST", "pages/a/b"), ("GET", "state/x")]:  # fmt: skip
        assert plain.request(method, f"{sandbox.control_url}/{path}").status_code == 404


# Whom it refuses


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "LOCALHOST:8001"}, 200),
        ({"Host": "[::1]:8001"}, 200),
        ({"Host": "127.0.0.2"}, 200),
        ({"Host": "shop.example"}, 403),
        ({"Host": "localhost.shop.example"}, 403),
        ({"Host": "127.0.0.1.shop.example"}, 403),
        ({"Host": "127.0.0.1@shop.example"}, 403),
        ({"Host": "192.0.2.1:8001"}, 403),
        ({"Host": "0.0.0.0"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "https://shop.example"}, 403),
        ({"Origin": "http://127.0.0.1:8001"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_a_web_page_cannot_steer_the_sandbox(
    sandbox: Sandbox, plain: requests.Session, headers: dict[str, str], status: int
) -> None:
    sandbox.add_page(slug="tea")
    answer = plain.post(f"{sandbox.control_url}/reset", json={}, headers=headers)
    assert answer.status_code == status
    assert (sandbox.state.pages() == []) == (status == 200)


@pytest.mark.parametrize(
    ("address", "status"),
    [("127.0.0.1", 200), ("::1", 200), ("192.0.2.1", 403), ("0.0.0.0", 403), ("", 403)],
)
def test_another_machine_cannot_steer_the_sandbox(
    sandbox: Sandbox, address: str, status: int
) -> None:
    running = sandbox._live
    control = Control(
        sandbox.state, sandbox.faults, running.webhooks, running.payments, running.starts
    )
    builder = EnvironBuilder(path="/", base_url="http://localhost", method="GET")
    environ = builder.get_environ()
    environ["REMOTE_ADDR"] = address
    assert control.respond(Request(environ), ("state",)).status_code == status


def test_only_this_machines_names_are_loopback() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.9.9.9", "::1"]))
    assert not any(map(is_loopback, ["", "0.0.0.0", "::", "10.0.0.1", "example.test", "127.1"]))
