"""Starting, stopping, and staying in a file."""

import http.client
import json
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from payments_pages.sandbox import Sandbox


def connect(sandbox: Sandbox) -> http.client.HTTPConnection:
    address = urlsplit(sandbox.base_url)
    assert address.hostname is not None
    return http.client.HTTPConnection(address.hostname, address.port, timeout=10)


# Starting and stopping


def test_a_sandbox_stops_and_starts_again() -> None:
    sandbox = Sandbox()
    with pytest.raises(RuntimeError, match="Start the sandbox first"):
        _ = sandbox.base_url
    with sandbox:
        sandbox.add_page(slug="tea")
        first = sandbox.base_url
        assert sandbox.start() is sandbox
        assert sandbox.base_url == first
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{first}/page", timeout=5)
    sandbox.stop()
    with sandbox:
        headers = {"Authorization": f"Bearer {sandbox.secret_key}"}
        answer = requests.get(f"{sandbox.base_url}/page/tea", headers=headers, timeout=5)
        assert answer.status_code == 200


def test_a_stop_ends_idle_connections_and_all_threads() -> None:
    before = set(threading.enumerate())
    with Sandbox() as sandbox:
        connection = connect(sandbox)
        connection.request("GET", "/pay/nothing")
        connection.getresponse().read()
        assert set(threading.enumerate()) - before
    deadline = time.monotonic() + 5
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()
    assert connection.sock.recv(1) == b""
    connection.close()


def test_a_taken_port_is_an_error(sandbox: Sandbox) -> None:
    port = urlsplit(sandbox.base_url).port
    assert port is not None
    with pytest.raises(OSError, match="in use"):
        Sandbox(port=port).start()


def test_a_wrong_setting_is_an_error() -> None:
    with pytest.raises(ValueError, match="colour"):
        Sandbox(colour="red")


def test_the_key_is_in_no_repr(sandbox: Sandbox) -> None:
    sandbox.set_account(webhook_secret="whsec_hidden")
    text = repr((sandbox, sandbox.state.account))
    assert sandbox.secret_key not in text
    assert "whsec_hidden" not in text


def test_pay_and_set_page_need_a_page(sandbox: Sandbox) -> None:
    with pytest.raises(KeyError):
        sandbox.pay("nothing")
    with pytest.raises(KeyError):
        sandbox.set_page("nothing", active=False)
    sandbox.add_page(slug="tea")
    sandbox.set_page("tea", amount=5)
    sandbox.pay("tea")
    sandbox.pay("tea", amount=7, currency="JOD")
    paid = [(t.data["amount"], t.data["currency"]) for t in sandbox.state.transactions()]
    assert paid == [(5, "ILS"), (7, "JOD")]


def test_a_page_moves_to_a_slug_that_is_free(sandbox: Sandbox) -> None:
    page, other = sandbox.add_page(slug="tea"), sandbox.add_page(slug="coffee")
    sandbox.set_page("tea", slug="mint", id=99)
    assert sandbox.state.find_page("tea") is None
    moved = sandbox.state.find_page("mint")
    assert moved is not None
    assert moved["id"] == page["id"]
    with pytest.raises(ValueError, match="slug"):
        sandbox.set_page("mint", slug="coffee")
    assert sandbox.state.find_page("coffee") == other


def test_reset_brings_back_the_first_settings(sandbox: Sandbox, api: Any) -> None:
    sandbox.set_account(currency="USD")
    sandbox.add_page(slug="tea", amount=5)
    reference = sandbox.pay("tea")
    sandbox.faults.add(kind="status")
    sandbox.reset()
    assert api.verify(reference).status_code == 404
    assert sandbox.add_page(slug="tea")["currency"] == "ILS"


# The state file


def test_pages_and_payments_outlive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with Sandbox(state_file=path, secret_key="sk_test_hidden") as sandbox:
        page = sandbox.add_page(slug="شاي", amount=500)
        reference = sandbox.pay("شاي")
        paid = sandbox.transaction(reference)
        sandbox.set_account(currency="JOD", reference_params=["ref"], webhook_secret="whsec_hid")
    assert "hid" not in path.read_text(encoding="utf-8").replace("شاي", "")
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]
    with Sandbox(state_file=str(path)) as sandbox:
        assert sandbox.state.pages() == [page]
        assert sandbox.transaction(reference) == paid
        assert sandbox.state.account.currency == "JOD"
        assert sandbox.state.account.reference_params == ("ref",)
        assert sandbox.add_page()["id"] == page["id"] + 1
    with Sandbox(state_file=path, currency="USD") as sandbox:
        assert sandbox.state.account.currency == "USD"


def test_a_late_payment_succeeds_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with Sandbox(state_file=path) as sandbox:
        sandbox.add_page(slug="tea", amount=500)
        reference = sandbox.pay("tea", late=0.3)
    with Sandbox(state_file=path) as sandbox:
        deadline = time.monotonic() + 5
        (waiting,) = sandbox.state.transactions()
        assert waiting.data["reference"] == reference
        while sandbox.state.transactions() == [waiting] and time.monotonic() < deadline:
            time.sleep(0.02)
    stored = json.loads(path.read_text(encoding="utf-8"))["transactions"]
    assert [item["data"]["status"] for item in stored] == ["success"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 2}', '{"version": 1}'])
def test_a_file_of_another_kind_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"state\.json does not hold"):
        Sandbox(state_file=path)
    assert path.read_text() == text
