"""Starting a checkout for a reference the merchant made, as a browser does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import requests

from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.checkouts import StartRefused
from tests.unit.sandbox.conftest import KEY
from tests.unit.sandbox.payer import only_transaction

GIVEN: dict[str, Any] = {
    "key": "pk_test_sandbox", "reference": "A-1.b=2", "amount": 12050, "currency": "JOD",
    "email": "rana@example.test",
}  # fmt: skip
SITE = {"Origin": "https://shop.example"}


def start(sandbox: Sandbox, session: requests.Session, **changes: Any) -> requests.Response:
    """Post what a browser posts; a change to None leaves a field out."""
    body = {name: value for name, value in {**GIVEN, **changes}.items() if value is not None}
    return session.post(sandbox.start_url, json=body, headers=SITE, timeout=10)


def test_a_browser_starts_a_checkout_with_the_public_key(
    sandbox: Sandbox, plain: requests.Session, api: Any
) -> None:
    answer = start(sandbox, plain, metadata={"order": "7"})
    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, True)
    assert body["data"]["reference"] == "A-1.b=2"
    page = body["data"]["authorization_url"]
    assert page == f"{sandbox.start_url.removesuffix('start')}{body['data']['access_code']}"
    assert plain.get(page).status_code == 200
    data = api.verify("A-1.b=2").json()["data"]
    assert (data["status"], data["amount"], data["currency"]) == ("abandoned", 12050, "JOD")
    assert data["customer"]["email"] == "rana@example.test"
    assert data["metadata"] == {"order": "7"}
    assert (data["paid_at"], data["fees"]) == (None, None)


def test_any_site_may_start_one_and_read_the_answer(
    sandbox: Sandbox, plain: requests.Session
) -> None:
    asked = {**SITE, "Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers": "content-type"}  # fmt: skip
    allowed = plain.options(sandbox.start_url, headers=asked)
    assert allowed.status_code == 204
    assert allowed.headers["Access-Control-Allow-Headers"] == "Content-Type"
    for answer in [allowed, start(sandbox, plain), start(sandbox, plain, key="pk_test_other")]:
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer.headers
    answer = plain.get(sandbox.start_url)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST, OPTIONS")


@pytest.mark.parametrize("key", ["pk_test_other", "pk_live_sandbox", "", "شاي", 5, None])
def test_a_wrong_key_starts_nothing(sandbox: Sandbox, plain: requests.Session, key: object) -> None:
    answer = start(sandbox, plain, key=key)
    assert answer.status_code == 401
    assert answer.json() == {
        "status": False, "message": "Invalid key", "type": "validation_error",
        "code": "invalid_key",
    }  # fmt: skip
    assert sandbox.state.transactions() == []


@pytest.mark.parametrize("key", [KEY, "sk_live_other"])
def test_the_secret_key_is_refused_where_a_browser_is(
    sandbox: Sandbox, plain: requests.Session, key: str
) -> None:
    sandbox.set_account(public_key=key)
    answer = start(sandbox, plain, key=key)
    assert (answer.status_code, answer.json()["code"]) == (401, "secret_key")
    assert key not in answer.text


def test_the_public_key_does_not_open_the_api(sandbox: Sandbox, plain: requests.Session) -> None:
    headers = {"Authorization": f"Bearer {sandbox.public_key}"}
    answer = plain.get(f"{sandbox.base_url}/transaction/verify/A-1", headers=headers)
    assert answer.status_code == 401


def test_the_public_key_follows_the_mode_unless_it_is_set() -> None:
    assert Sandbox().public_key == "pk_test_sandbox"
    assert Sandbox(secret_key="sk_live_x").public_key == "pk_live_sandbox"
    assert Sandbox(public_key="pk_test_mine").public_key == "pk_test_mine"


@pytest.mark.parametrize("status", ["abandoned", "failed", "success", "reversed"])
def test_a_reference_is_used_once_whatever_became_of_it(
    sandbox: Sandbox, plain: requests.Session, status: str
) -> None:
    start(sandbox, plain)
    sandbox.end_checkout("A-1.b=2", status=status)
    answer = start(sandbox, plain, amount=1)
    assert (answer.status_code, answer.json()["code"]) == (400, "duplicate_reference")
    assert only_transaction(sandbox)["amount"] == 12050


@pytest.mark.parametrize(
    "changes",
    [
        {"reference": "A 1"}, {"reference": "A/1"}, {"reference": "شاي"}, {"reference": "A" * 129},
        {"reference": "A\n"}, {"reference": 7}, {"reference": ["A"]},
        {"amount": None}, {"amount": 0}, {"amount": -5}, {"amount": 1.5}, {"amount": True},
        {"amount": "1e3"}, {"amount": "12.50"}, {"amount": "١٢"}, {"amount": 10**18},
        {"currency": "EUR"}, {"currency": "ils"}, {"currency": ["ILS"]}, {"currency": 5},
        {"email": None}, {"email": "rana"}, {"email": "ra na@example.test"}, {"email": 5},
        {"metadata": 5}, {"metadata": ["a"]},
        {"callback_url": "javascript:alert(1)"}, {"callback_url": "/back"},
        {"callback_url": "http://["}, {"callback_url": 5},
    ],
)  # fmt: skip
def test_what_cannot_be_a_payment_is_refused(
    sandbox: Sandbox, plain: requests.Session, changes: dict[str, Any]
) -> None:
    answer = start(sandbox, plain, **changes)
    assert answer.status_code == 400
    assert answer.json()["status"] is False
    assert sandbox.state.transactions() == []


@pytest.mark.parametrize("body", ["", "{", "[]", "5", "[" * 100_000])
def test_a_body_that_is_no_object_is_refused(
    sandbox: Sandbox, plain: requests.Session, body: str
) -> None:
    answer = plain.post(sandbox.start_url, data=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


def test_underscores_are_refused_only_if_the_account_says_so(
    sandbox: Sandbox, plain: requests.Session
) -> None:
    assert start(sandbox, plain, reference="a_1").status_code == 200
    sandbox.set_account(refuse_underscores=True)
    assert start(sandbox, plain, reference="a_2").status_code == 400


def test_what_is_left_out_has_a_default(sandbox: Sandbox, plain: requests.Session) -> None:
    sandbox.set_account(currency="USD")
    answer = start(sandbox, plain, reference=None, currency=None, amount="500")
    data = only_transaction(sandbox)
    assert re.fullmatch(r"[A-Za-z0-9]{16}", data["reference"])
    assert answer.json()["data"]["reference"] == data["reference"]
    assert (data["amount"], data["currency"], data["metadata"]) == (500, "USD", "")


def test_a_plain_form_sends_its_payer_on(sandbox: Sandbox, plain: requests.Session) -> None:
    form = {**GIVEN, "metadata": '{"order": "7"}', "csrf": "of the shop"}
    answer = plain.post(sandbox.start_url, data=form, headers=SITE, allow_redirects=False)
    assert answer.status_code == 303
    assert plain.get(answer.headers["Location"]).status_code == 200
    assert only_transaction(sandbox)["metadata"] == '{"order": "7"}'
    again = plain.post(sandbox.start_url, data=form, allow_redirects=False)
    assert again.status_code == 400
    assert "Duplicate Transaction Reference" in again.text


def test_programs_start_and_end_checkouts_too(sandbox: Sandbox, plain: requests.Session) -> None:
    started = sandbox.start_checkout("A-1", amount=500, currency="ILS")
    assert plain.get(started["authorization_url"]).status_code == 200
    with pytest.raises(StartRefused, match="Duplicate"):
        sandbox.start_checkout("A-1", amount=500)
    sandbox.end_checkout("A-1", amount=1)
    assert only_transaction(sandbox)["status"] == "success"
    assert only_transaction(sandbox)["amount"] == 1
    with pytest.raises(ValueError, match="is paid"):
        sandbox.end_checkout("A-1")
    for reference in ["A-2", sandbox.add_transaction("A-3")["reference"]]:
        with pytest.raises(ValueError, match="No checkout was started"):
            sandbox.end_checkout(reference)


def test_checkouts_are_steered_from_other_processes(
    sandbox: Sandbox, plain: requests.Session
) -> None:
    body = {"reference": "A-1", "amount": 500, "email": "rana@example.test"}
    started = plain.post(f"{sandbox.control_url}/checkouts", json=body).json()
    assert plain.get(started["authorization_url"]).status_code == 200
    again = plain.post(f"{sandbox.control_url}/checkouts", json=body)
    assert (again.status_code, again.json()["error"]) == (400, "Duplicate Transaction Reference")
    ended = plain.post(f"{sandbox.control_url}/checkouts/A-1", json={"status": "failed"})
    assert ended.json()["status"] == "failed"
    late = plain.post(f"{sandbox.control_url}/checkouts/A-1", json={"late": 60})
    assert late.json()["status"] == "pending"
    assert plain.post(f"{sandbox.control_url}/checkouts/A-2", json={}).status_code == 400
    state = plain.get(f"{sandbox.control_url}/state").json()
    assert state["public_key"] == "pk_test_sandbox"


def test_a_started_checkout_outlives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with Sandbox(state_file=path) as sandbox:
        code = sandbox.start_checkout("A-1", amount=500)["access_code"]
    assert json.loads(path.read_text())["transactions"][0]["access_code"] == code
    with Sandbox(state_file=path) as sandbox:
        page = sandbox.start_url.removesuffix("start") + code
        assert requests.get(page, timeout=10).status_code == 200


def test_a_reset_forgets_started_checkouts(sandbox: Sandbox, plain: requests.Session) -> None:
    page = sandbox.start_checkout("A-1", amount=500)["authorization_url"]
    sandbox.reset()
    assert plain.get(page).status_code == 404
