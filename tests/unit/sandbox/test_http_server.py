"""The wire: connections that stay, bodies, many at once."""

import http.client
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from payments_pages.sandbox import Sandbox


def connect(sandbox: Sandbox) -> http.client.HTTPConnection:
    address = urlsplit(sandbox.base_url)
    assert address.hostname is not None
    return http.client.HTTPConnection(address.hostname, address.port, timeout=10)


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
