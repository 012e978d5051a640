"""What comes back is doubted, what went out may have been done."""

import gzip
import json
import os
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import responses

from payments_pages.client import transport as transport_module
from payments_pages.client.transport import Transport
from payments_pages.exceptions import (
    ConfigurationError,
    InvalidResponse,
    ServiceUnavailable,
)
from payments_pages.limits import Limits
from tests.unit.client.raw_server import (
    KEY,
    OK,
    RawServer,
    answer,
    cut_in_body,
    cut_in_headers,
    drop,
    get,
    post,
    say_nothing,
    to,
)


@pytest.mark.parametrize("script", [say_nothing, drop, cut_in_body])
def test_after_the_request_has_left_a_write_may_be_done(
    script: Any, serve: Callable[..., RawServer]
) -> None:
    transport = to(serve(script), limits=Limits(read_timeout=0.2))
    with pytest.raises(ServiceUnavailable) as caught:
        post(transport)
    assert caught.value.maybe_done is True
    with pytest.raises(ServiceUnavailable) as caught:
        get(transport)
    assert caught.value.maybe_done is False


def test_headers_cut_short_leave_nothing_to_believe(serve: Callable[..., RawServer]) -> None:
    assert get(to(serve(cut_in_headers))).body == b""


@pytest.mark.parametrize("host", ["127.0.0.1:1", "nowhere.localhost:1"])
def test_a_write_that_found_no_connection_is_not_done(host: str) -> None:
    with pytest.raises(ServiceUnavailable) as caught:
        post(Transport(secret_key=KEY, base_url=f"http://{host}/api"))
    assert caught.value.maybe_done is False


def test_a_name_that_does_not_resolve_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any, **_named: Any) -> None:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ServiceUnavailable):
        get(Transport(secret_key=KEY, base_url="https://service.test/api"))


@pytest.mark.parametrize(
    "garbled",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 twohundred OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_what_is_no_http_is_an_invalid_response(
    garbled: bytes, serve: Callable[..., RawServer]
) -> None:
    with pytest.raises(InvalidResponse):
        get(to(serve(answer(garbled))))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 304])
def test_a_redirect_is_not_followed_and_not_believed(
    status: int, serve: Callable[..., RawServer]
) -> None:
    elsewhere = serve(answer(OK))
    head = (
        b"HTTP/1.1 %d Moved\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 9999999\r\n\r\n"
        % (status, elsewhere.port)
    )
    with pytest.raises(InvalidResponse):
        get(to(serve(answer(head))))
    assert elsewhere.requests == []


# --- size


def test_a_body_that_says_it_is_too_large_is_not_read(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n"))
    started = time.monotonic()
    with pytest.raises(InvalidResponse):
        get(to(server))
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("size", [1000, 1001])
@pytest.mark.parametrize("framing", ["length", "chunked", "close", "gzip"])
def test_the_limit_counts_decoded_bytes(
    framing: str, size: int, serve: Callable[..., RawServer]
) -> None:
    body = b"x" * size
    script = {
        "length": answer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size, body),
        "chunked": answer(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % size,
            body,
            b"\r\n0\r\n\r\n",
        ),
        "close": lambda _server, connection: (
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body),
            connection.shutdown(socket.SHUT_RDWR),
        ),
        "gzip": answer(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
            % len(gzip.compress(body)),
            gzip.compress(body),
        ),
    }[framing]
    if size == 1000:
        assert get(to(serve(script)), size_limit=1000).body == body
    else:
        with pytest.raises(InvalidResponse):
            get(to(serve(script)), size_limit=1000)


def test_a_gzip_bomb_is_not_unpacked(serve: Callable[..., RawServer]) -> None:
    bomb = gzip.compress(b"\0" * 64_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    transport = to(serve(answer(head, bomb)))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidResponse):
            get(transport)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_a_body_of_200_mib_costs_no_memory(serve: Callable[..., RawServer]) -> None:
    def pour(_server: RawServer, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        piece = b"x" * (1024 * 1024)
        for _piece in range(200):
            connection.sendall(piece)

    transport = to(serve(pour))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidResponse):
            get(transport)
        assert tracemalloc.get_traced_memory()[1] < 40 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_nothing_is_taken_from_the_environment(
    serve: Callable[..., RawServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password other\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server = serve(answer(OK))
    get(to(server))
    assert f"Bearer {KEY}".encode() in server.requests[0]


def test_a_request_says_who_asks_and_for_what(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    post(to(server))
    head, body = server.requests[0].split(b"\r\n\r\n")
    assert b"Accept: application/json\r\n" in head
    assert b"Accept-Encoding: identity\r\n" in head
    assert b"User-Agent: payments-pages/" in head
    assert b"Content-Type: application/json" in head
    assert json.loads(body) == {"name": "x"}


def test_a_body_that_is_no_json_is_refused_before_any_call(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    transport = to(server)
    for body in ({"x": float("nan")}, {"x": object()}):
        with pytest.raises((ValueError, TypeError)):
            transport.exchange("POST", transport.target("/page"), json_body=body)
    assert server.connections == 0


def test_cookies_are_not_kept(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b; Path=/\r\n\r\n")))
    get(to(server))
    get(to(server))
    assert b"Cookie" not in server.requests[1]


def test_a_connection_is_kept_by_its_thread_for_all_transports(
    serve: Callable[..., RawServer],
) -> None:
    server = serve(answer(OK))
    get(to(server))
    get(to(server, secret_key="sk_test_other"))
    assert server.connections == 1
    thread = threading.Thread(target=lambda: get(to(server)))
    thread.start()
    thread.join()
    assert server.connections == 2


def test_a_forked_child_opens_connections_of_its_own(
    serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(answer(OK))
    get(to(server))
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    get(to(server))
    assert server.connections == 2
    get(to(server))
    assert server.connections == 2


def test_a_connection_is_used_again_after_an_answer_and_not_after_a_failure(
    serve: Callable[..., RawServer],
) -> None:
    server = serve(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n"))
    for _call in range(2):
        with pytest.raises(InvalidResponse):
            get(to(server))
    assert server.connections == 2


def test_case_c27_a_certificate_nobody_vouches_for_is_refused(
    certificate: tuple[Path, ssl.SSLContext], serve: Callable[..., RawServer]
) -> None:
    server = serve(answer(OK), certificate[1])
    with pytest.raises(ServiceUnavailable, match="certificate") as caught:
        post(to(server, base_url=f"https://127.0.0.1:{server.port}/api"))
    assert caught.value.maybe_done is False
    assert server.requests == []


def test_a_ca_bundle_can_be_named(
    certificate: tuple[Path, ssl.SSLContext], serve: Callable[..., RawServer]
) -> None:
    server = serve(answer(OK), certificate[1])
    base_url = f"https://127.0.0.1:{server.port}/api"
    transport = to(server, base_url=base_url, ca_bundle=str(certificate[0]))
    assert get(transport).body == b'{"status":true}'
    assert get(transport).body == b'{"status":true}'
    assert server.connections == 1


def test_a_ca_bundle_must_exist() -> None:
    with pytest.raises(ConfigurationError):
        Transport(secret_key=KEY, base_url="https://service.test", ca_bundle="/no/such/file")


@responses.activate
def test_the_usual_tools_for_faking_requests_work() -> None:
    responses.get("https://service.test/api/transaction/verify/PPG-1001", json={"status": True})
    transport = Transport(secret_key=KEY, base_url="https://service.test/api")
    assert json.loads(get(transport).body) == {"status": True}
    assert transport_module.SIZE_LIMIT == 1024 * 1024
