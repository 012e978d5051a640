"""Starting, stopping, staying: the server, the state file, the command."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.__main__ import main


def connect(sandbox: Sandbox) -> http.client.HTTPConnection:
    address = urlsplit(sandbox.base_url)
    assert address.hostname is not None
    return http.client.HTTPConnection(address.hostname, address.port, timeout=10)


# The wire


def test_a_connection_stays_open(sandbox: Sandbox) -> None:
    sandbox.add_transaction("A-1")
    connection = connect(sandbox)
    headers = {"Authorization": f"Bearer {sandbox.secret_key}"}
    ports = set()
    for target, body, status in [
        ("/api/transaction/verify/A-1", None, 200),
        ("/api/page", b"x" * 5000, 400),
        ("/pay/nothing", b"a=b", 404),
        ("/nowhere", None, 404),
        ("/api/page", b"{}" * 2000, 400),
        ("/_sandbox/state", None, 200),
    ]:
        connection.request("POST" if body else "GET", target, body, headers)
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, answer.version) == (status, 11)
        ports.add(connection.sock.getsockname())
    connection.close()
    assert len(ports) == 1


def test_a_head_has_no_body(sandbox: Sandbox) -> None:
    connection = connect(sandbox)
    for target in ["/api/page", "/checkout.css", "/_sandbox/state"]:
        connection.request("HEAD", target)
        answer = connection.getresponse()
        assert answer.read() == b""
        # Bytes of a body would be taken for the start of the next answer.
        connection.request("GET", "/checkout.css")
        answer = connection.getresponse()
        assert answer.status == 200
        assert b"color-scheme" in answer.read()
    connection.close()


def test_a_body_that_is_waited_for_is_asked_for(sandbox: Sandbox) -> None:
    address = urlsplit(sandbox.base_url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as raw:
        raw.sendall(
            b"POST /api/page HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
            b"Expect: 100-continue\r\nConnection: close\r\n\r\n"
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 100 ")
        raw.sendall(b"{}")
        assert raw.recv(65536).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("Content-Length: 1048577", 413),
        ("Content-Length: 99999999999999", 413),
        ("Content-Length: -1", 411),
        ("Content-Length: many", 411),
        ("Transfer-Encoding: chunked", 411),
    ],
)
def test_bodies_without_a_sane_length_end_the_connection(
    sandbox: Sandbox, headers: str, status: int
) -> None:
    address = urlsplit(sandbox.base_url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as raw:
        raw.sendall(f"POST /api/page HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\n".encode())
        answer = b""
        while chunk := raw.recv(65536):
            answer += chunk
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert sandbox.requests == []


def test_many_ask_at_once(sandbox: Sandbox) -> None:
    sandbox.add_page(slug="tea", amount=1)
    url, headers = sandbox.base_url, {"Authorization": f"Bearer {sandbox.secret_key}"}

    def work(number: int) -> int:
        reference = sandbox.pay("tea", reference=f"R-{number}")
        answer = requests.get(f"{url}/transaction/verify/{reference}", headers=headers, timeout=20)
        assert answer.json()["data"]["reference"] == reference
        return int(answer.json()["data"]["id"])

    with ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(work, range(64)))
    assert len(set(ids)) == 64
    assert sandbox.verify_calls() == 64


def test_a_failure_of_the_sandbox_is_500_and_logged(
    sandbox: Sandbox, api: Any, caplog: pytest.LogCaptureFixture
) -> None:
    sandbox.faults.add(kind="run", function=lambda: 1 / 0, times=1)
    assert api("GET", "/page").status_code == 500
    assert "ZeroDivisionError" in caplog.text
    assert sandbox.secret_key not in caplog.text
    assert api("GET", "/page").status_code == 200


def test_nothing_is_printed_about_requests(
    sandbox: Sandbox, api: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    api("GET", "/page")
    api("GET", "/nothing")
    assert capfd.readouterr() == ("", "")


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


# The command


def run(*arguments: str) -> "subprocess.Popen[str]":
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DJANGO_")}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "payments_pages.sandbox", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_without_django_until_it_is_told_to_stop(
    number: int, tmp_path: Path
) -> None:
    path = tmp_path / "state.json"
    process = run("--port", "0", "--secret-key", "sk_test_cli", "--currency", "JOD",
                  "--state", str(path), "--webhook-url", "http://127.0.0.1:1/")  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("Sandbox ready: API http://127.0.0.1:")
    assert "sk_test_cli" not in line
    base_url = line.split()[3].rstrip(",")
    headers = {"Authorization": "Bearer sk_test_cli"}
    answer = requests.post(f"{base_url}/page", json={"name": "Tea"}, headers=headers, timeout=10)
    assert answer.json()["data"]["currency"] == "JOD"
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "", "")
    assert json.loads(path.read_text(encoding="utf-8"))["pages"][0]["name"] == "Tea"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "shop.example"])
def test_the_command_refuses_to_be_open_to_others(host: str) -> None:
    out = StringIO()
    assert main(["--host", host, "--port", "0"], out) == 2
    assert "--allow-remote" in out.getvalue()


def test_the_command_tells_why_it_cannot_start(sandbox: Sandbox, tmp_path: Path) -> None:
    out = StringIO()
    assert main(["--port", str(urlsplit(sandbox.base_url).port)], out) == 1
    assert "in use" in out.getvalue()
    (tmp_path / "state.json").write_text("[]")
    assert main(["--port", "0", "--state", str(tmp_path / "state.json")], out) == 1
    assert "does not hold" in out.getvalue()


def test_the_command_gives_the_signals_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    ready = threading.Event()

    class Output(StringIO):
        def flush(self) -> None:
            ready.set()

    def stop() -> None:
        assert ready.wait(10)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop)
    thread.start()
    out = Output()
    assert main(["--port", "0"], out) == 0
    thread.join()
    assert out.getvalue().count("\n") == 1
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_command_may_be_open_if_meant() -> None:
    process = run("--host", "0.0.0.0", "--port", "0", "--allow-remote")
    assert process.stdout is not None
    assert "http://0.0.0.0:" in process.stdout.readline()
    process.terminate()
    process.communicate(timeout=10)
    assert process.returncode == 0
