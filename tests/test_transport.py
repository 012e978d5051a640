"""The wire is hostile and slow: whatever it does, a call ends in time and tells nobody the key."""

import gzip
import json
import logging
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import responses

from payments_pages import transport as transport_module
from payments_pages.exceptions import (
    ConfigurationError,
    DeadlineExceeded,
    InvalidReference,
    InvalidResponse,
    ServiceError,
    ServiceUnavailable,
)
from payments_pages.transport import Answer, Transport

KEY = "sk_test_LEAKME0001"
OK = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"status":true}'


class RawServer:
    """Answer each request on a socket by calling `script(connection, request)`.

    Inside a script, `pause()` waits and ends the script when the test is over.
    """

    def __init__(
        self, script: Callable[["RawServer", socket.socket], None], tls: Any = None
    ) -> None:
        self.script = script
        self.tls = tls
        self.requests: list[bytes] = []
        self.connections = 0
        self._over = threading.Event()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "RawServer":
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for sock in (self._listener, *self._sockets):
            with suppress(OSError):
                # A mere close() does not wake a thread that waits on the socket.
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for thread in self._threads:
            thread.join(5)

    def pause(self, seconds: float) -> None:
        if self._over.wait(seconds):
            raise OSError("the test is over")

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _address = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
                self._sockets.append(connection)
            while request := self._request(connection):
                self.requests.append(request)
                self.script(self, connection)
        except (OSError, ValueError):
            pass
        finally:
            connection.close()

    def _request(self, connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return b""
            data += piece
        return data


def answer(*pieces: bytes) -> Callable[[RawServer, socket.socket], None]:
    def script(_server: RawServer, connection: socket.socket) -> None:
        connection.sendall(b"".join(pieces))

    return script


def say_nothing(server: RawServer, connection: socket.socket) -> None:
    server.pause(30)


def trickle_status_line(server: RawServer, connection: socket.socket) -> None:
    for byte in b"HTTP/1.1 200 " + b"O" * 1000:
        connection.sendall(bytes([byte]))
        server.pause(0.05)


def trickle_headers(server: RawServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for number in range(1000):
        connection.sendall(b"X-%d: y\r\n" % number)
        server.pause(0.05)


def trickle_body(server: RawServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _byte in range(1000):
        connection.sendall(b" ")
        server.pause(0.05)


def trickle_chunks(server: RawServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _chunk in range(1000):
        connection.sendall(b"1\r\n \r\n")
        server.pause(0.05)


def trickle_continues(server: RawServer, connection: socket.socket) -> None:
    for _answer in range(1000):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        server.pause(0.05)


def drop(_server: RawServer, connection: socket.socket) -> None:
    connection.close()


def cut_in_body(_server: RawServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    connection.close()


def cut_in_headers(_server: RawServer, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-")
    connection.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    with ExitStack() as stack:
        yield lambda script, tls=None: stack.enter_context(RawServer(script, tls))


def to(server: RawServer, **changes: Any) -> Transport:
    base_url = f"http://127.0.0.1:{server.port}/api"
    return Transport(**({"secret_key": KEY, "base_url": base_url, "deadline": 5} | changes))


def get(transport: Transport, reference: str = "PPG-1001", **more: Any) -> Answer:
    return transport.exchange("GET", transport.target("/transaction/verify/{}", reference), **more)


def post(transport: Transport) -> Answer:
    return transport.exchange("POST", transport.target("/page"), json_body={"name": "x"})


def failure_of(transport: Transport) -> ServiceError | None:
    try:
        get(transport)
    except ServiceError as error:
        return error
    return None


# --- the deadline


@pytest.mark.parametrize(
    "script",
    [
        say_nothing,
        trickle_status_line,
        trickle_headers,
        trickle_body,
        trickle_chunks,
        trickle_continues,
    ],
)
def test_the_deadline_holds_whatever_the_server_does(
    script: Any, serve: Callable[..., RawServer]
) -> None:
    transport = to(serve(script), deadline=0.4, read_timeout=10, connect_timeout=10)
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        get(transport)
    assert 0.35 < time.monotonic() - started < 0.8


def test_silence_longer_than_the_read_timeout_ends_a_call(serve: Callable[..., RawServer]) -> None:
    started = time.monotonic()
    with pytest.raises(ServiceUnavailable) as caught:
        get(to(serve(say_nothing), deadline=20, read_timeout=0.2))
    assert type(caught.value) is ServiceUnavailable
    assert time.monotonic() - started < 1


def test_a_slow_answer_within_the_deadline_is_taken(serve: Callable[..., RawServer]) -> None:
    def slowly(server: RawServer, connection: socket.socket) -> None:
        for start in range(0, len(OK), 16):
            connection.sendall(OK[start : start + 16])
            server.pause(0.02)

    assert get(to(serve(slowly), read_timeout=0.5)).body == b'{"status":true}'


def test_a_budget_can_only_shorten_the_deadline(serve: Callable[..., RawServer]) -> None:
    server = serve(say_nothing)
    for deadline, budget in ((20, 0.2), (0.2, 20)):
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            get(to(server, deadline=deadline), budget=budget)
        assert time.monotonic() - started < 1


def test_no_time_left_means_no_call(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    with pytest.raises(DeadlineExceeded) as caught:
        to(server).exchange("POST", to(server).target("/page"), json_body={}, budget=0)
    assert server.requests == []
    assert caught.value.maybe_done is False


def test_a_server_that_stalls_in_the_tls_handshake_is_left(
    serve: Callable[..., RawServer],
) -> None:
    def trickle_handshake(server: RawServer, connection: socket.socket) -> None:
        connection.sendall(b"\x16\x03\x03\x40\x00")
        for _byte in range(1000):
            connection.sendall(b"\x02")
            server.pause(0.05)

    server = serve(say_nothing)
    server._request = lambda connection: connection.recv(100)  # type: ignore[method-assign]
    for script in (say_nothing, trickle_handshake):
        server.script = script
        transport = to(server, base_url=f"https://127.0.0.1:{server.port}/api", deadline=0.4)
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded) as caught:
            post(transport)
        assert time.monotonic() - started < 0.9
        assert caught.value.maybe_done is False


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """Listen with a full queue: connecting then waits without an answer."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _place in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_many_addresses_of_a_name_do_not_multiply_the_time(
    deaf_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", deaf_port))] * 8
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: found)
    transport = Transport(
        secret_key=KEY, base_url="http://many.localhost/api", connect_timeout=0.2, deadline=0.5
    )
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded) as caught:
        post(transport)
    assert 0.4 < time.monotonic() - started < 0.9
    assert caught.value.maybe_done is False


def test_the_next_address_is_tried_when_the_first_is_deaf(
    deaf_port: int, serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = (deaf_port, serve(answer(OK)).port)
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: found)
    transport = Transport(
        secret_key=KEY, base_url="http://two.localhost/api", connect_timeout=0.2, deadline=5
    )
    assert get(transport).status == 200


# --- failures, and whether a write may have been done


@pytest.mark.parametrize("script", [say_nothing, drop, cut_in_body])
def test_after_the_request_has_left_a_write_may_be_done(
    script: Any, serve: Callable[..., RawServer]
) -> None:
    transport = to(serve(script), read_timeout=0.2)
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


# --- addresses (case C11)


@pytest.mark.parametrize(
    ("value", "segment"),
    [
        ("a=b.c-d", "a%3Db.c-d"),
        ("../../page/18", "..%2F..%2Fpage%2F18"),
        ("%2e%2e%2fpage%2f18", "%252e%252e%252fpage%252f18"),
        ("%2e%2e", "%252e%252e"),
        ("a/b", "a%2Fb"),
        ("a?b=1", "a%3Fb%3D1"),
        ("a#b", "a%23b"),
        ("a%2Fb", "a%252Fb"),
        ("a;b", "a%3Bb"),
        ("a b", "a%20b"),
        ("a+b", "a%2Bb"),
        ("a\r\nX-Evil: 1", "a%0D%0AX-Evil%3A%201"),
        ("{}", "%7B%7D"),
        ("...", "..."),
        ("~a", "~a"),
        ("شاي", "%D8%B4%D8%A7%D9%8A"),
    ],
)
def test_case_c11_a_value_arrives_as_exactly_one_segment(
    value: str, segment: str, serve: Callable[..., RawServer]
) -> None:
    server = serve(answer(OK))
    get(to(server), value)
    line = server.requests[0].split(b"\r\n")[0].decode()
    assert line == f"GET /api/transaction/verify/{segment} HTTP/1.1"


@pytest.mark.parametrize("value", ["", ".", "..", "\ud800"])
def test_case_c11_what_cannot_be_quoted_is_refused_before_any_call(
    value: str, serve: Callable[..., RawServer]
) -> None:
    server = serve(answer(OK))
    with pytest.raises(InvalidReference):
        get(to(server), value)
    assert server.requests == []


def test_a_query_arrives_encoded(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    transport = to(server)
    transport.exchange(
        "GET", transport.target("/page", query={"from": "2024-03-05T12:00:00+02:00"})
    )
    assert server.requests[0].startswith(b"GET /api/page?from=2024-03-05T12%3A00%3A00%2B02%3A00 ")


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "service.test/api",
        "ftp://service.test",
        "https://",
        "http://service.test/api",
        "http://10.0.0.1/api",
        "http://localhost.evil.test/api",
        "https://user:password@service.test/api",
        "https://service.test/api?x=1",
        "https://service.test/api#x",
        "https://service.test/a/../b",
        "https://service.test//api",
        "https://service.test:port/api",
        "https://service.test:99999/api",
        "https://[::1/api",
        "https://سوق.test/api",
        "https://service.test/ api",
        "https://service.test/\napi",
    ],
)
def test_a_base_url_that_cannot_serve_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigurationError):
        Transport(secret_key=KEY, base_url=base_url)


@pytest.mark.parametrize(
    "base_url",
    [
        "https://service.test",
        "https://service.test/api/",
        "https://service.test:8443/v1/api",
        "http://localhost:8001/api",
        "http://127.0.0.2/api",
        "http://[::1]:8001/api",
        "http://sandbox.localhost/api",
    ],
)
def test_https_or_loopback_can_serve(base_url: str) -> None:
    assert Transport(secret_key=KEY, base_url=base_url).base_url == base_url.rstrip("/")


# --- the key (case C19)


def test_the_key_is_stripped_and_sent_once_as_a_bearer(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    get(to(server, secret_key=f" {KEY}\n"))
    assert server.requests[0].count(f"Authorization: Bearer {KEY}\r\n".encode()) == 1


def test_a_callable_key_is_asked_each_time(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    keys = iter(["sk_test_first", "sk_test_second"])
    transport = to(server, secret_key=lambda: next(keys))
    get(transport)
    get(transport)
    assert b"sk_test_first" in server.requests[0]
    assert b"sk_test_second" in server.requests[1]


@pytest.mark.parametrize(
    "key",
    ["", "  \n", "sk_LEAKME\nX-Evil: 1", "sk_LEAKME\x7f", "sk_LEAKME\u05d0", "sk LEAKME", None],
)
def test_case_c19_a_key_that_no_header_can_carry_is_refused_unquoted(key: Any) -> None:
    for source in (key, lambda: key):
        with pytest.raises(ConfigurationError) as caught:
            get(Transport(secret_key=source, base_url="http://127.0.0.1:1/api"))
        shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        assert "LEAKME" not in "".join(line for line in shown.format() if "key = " not in line)


@pytest.mark.parametrize(
    "script", [say_nothing, drop, cut_in_body, answer(b"SSH-2.0\r\n\r\n"), answer(OK)]
)
def test_case_c19_the_key_shows_nowhere(
    script: Any, serve: Callable[..., RawServer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    transport = to(serve(script), secret_key=f"{KEY}\n", read_timeout=0.1)
    error = failure_of(transport)
    if error is not None:
        assert error.__context__ is None
        assert error.__cause__ is None
        frames = traceback.TracebackException.from_exception(error, capture_locals=True)
        assert "LEAKME" not in "".join(frames.format())
        assert "LEAKME" not in repr(error.args)
        assert transport.base_url not in str(error)
    assert "LEAKME" not in caplog.text
    assert "LEAKME" not in repr(transport)
    assert "LEAKME" not in repr(vars(transport))


def test_one_record_tells_of_a_call_and_not_of_its_reference(
    serve: Callable[..., RawServer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "payments_pages.transport")
    get(to(serve(answer(OK))))
    with pytest.raises(ServiceUnavailable):
        get(to(serve(drop)))
    ours = [record for record in caplog.records if record.name == "payments_pages.transport"]
    assert [record.levelname for record in ours] == ["DEBUG", "INFO"]
    assert ours[0].getMessage().startswith("GET /transaction/verify/{}: 200, Answer, ")
    assert (
        ours[1]
        .getMessage()
        .startswith("GET /transaction/verify/{}: no status, ServiceUnavailable, ")
    )


def test_an_answer_does_not_show_its_body() -> None:
    assert "payer" not in repr(Answer(200, body=b"payer@example.test"))


# --- the environment, connections, TLS


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


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine: TLS with a certificate is not tested")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context


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


@pytest.mark.parametrize("script", [say_nothing, trickle_headers, trickle_body])
def test_the_deadline_holds_over_tls(
    script: Any, certificate: tuple[Path, ssl.SSLContext], serve: Callable[..., RawServer]
) -> None:
    server = serve(script, certificate[1])
    transport = to(
        server,
        base_url=f"https://127.0.0.1:{server.port}/api",
        ca_bundle=str(certificate[0]),
        deadline=0.6,
        read_timeout=10,
    )
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        get(transport)
    assert 0.5 < time.monotonic() - started < 1


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_that_stops_reading_does_not_hold_a_large_write(
    tls: bool, certificate: tuple[Path, ssl.SSLContext], serve: Callable[..., RawServer]
) -> None:
    server = serve(say_nothing, certificate[1] if tls else None)
    base_url = f"http{'s' if tls else ''}://127.0.0.1:{server.port}/api"
    transport = to(
        server, base_url=base_url, ca_bundle=str(certificate[0]), deadline=1, read_timeout=0.6
    )
    started = time.monotonic()
    with pytest.raises(ServiceUnavailable) as caught:
        transport.exchange("POST", transport.target("/page"), json_body={"name": "x" * 32_000_000})
    assert time.monotonic() - started < 2
    assert caught.value.maybe_done is True


@responses.activate
def test_the_usual_tools_for_faking_requests_work() -> None:
    responses.get("https://service.test/api/transaction/verify/PPG-1001", json={"status": True})
    transport = Transport(secret_key=KEY, base_url="https://service.test/api")
    assert json.loads(get(transport).body) == {"status": True}
    assert transport_module.SIZE_LIMIT == 1024 * 1024
