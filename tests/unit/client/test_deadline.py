"""A call ends in time, whatever the server does."""

import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from payments_pages.client.transport import Transport
from payments_pages.exceptions import (
    DeadlineExceeded,
    ServiceUnavailable,
)
from payments_pages.limits import Limits
from tests.unit.client.raw_server import (
    KEY,
    OK,
    RawServer,
    answer,
    get,
    post,
    say_nothing,
    to,
    trickle_body,
    trickle_chunks,
    trickle_continues,
    trickle_headers,
    trickle_status_line,
)

pytestmark = pytest.mark.slow  # each waits for a deadline


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
    transport = to(serve(script), limits=Limits(deadline=0.4, read_timeout=10, connect_timeout=10))
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        get(transport)
    assert 0.35 < time.monotonic() - started < 3


@pytest.mark.parametrize("script", [say_nothing, trickle_headers, trickle_body, trickle_chunks])
def test_a_call_ends_by_its_deadline_and_a_fifth_of_a_second(
    script: Any, serve: Callable[..., RawServer]
) -> None:
    """The best of some tries: the machine may be busy, the code may not be."""
    transport = to(serve(script), limits=Limits(deadline=0.3, read_timeout=10, connect_timeout=10))

    def duration() -> float:
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            get(transport)
        return time.monotonic() - started

    assert min(duration() for _try in range(3)) < 0.3 + 0.2


def test_silence_longer_than_the_read_timeout_ends_a_call(serve: Callable[..., RawServer]) -> None:
    started = time.monotonic()
    with pytest.raises(ServiceUnavailable) as caught:
        get(to(serve(say_nothing), limits=Limits(deadline=20, read_timeout=0.2)))
    assert type(caught.value) is ServiceUnavailable
    assert time.monotonic() - started < 3


def test_a_slow_answer_within_the_deadline_is_taken(serve: Callable[..., RawServer]) -> None:
    def slowly(server: RawServer, connection: socket.socket) -> None:
        for start in range(0, len(OK), 16):
            connection.sendall(OK[start : start + 16])
            server.pause(0.02)

    assert get(to(serve(slowly), limits=Limits(read_timeout=0.5))).body == b'{"status":true}'


def test_no_time_left_means_no_call(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    with pytest.raises(DeadlineExceeded) as caught:
        post(to(server, limits=Limits(deadline=0)))
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
        transport = to(
            server, base_url=f"https://127.0.0.1:{server.port}/api", limits=Limits(deadline=0.4)
        )
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded) as caught:
            post(transport)
        assert time.monotonic() - started < 3
        assert caught.value.maybe_done is False


def test_many_addresses_of_a_name_do_not_multiply_the_time(
    deaf_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", deaf_port))] * 8
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: found)
    transport = Transport(
        secret_key=KEY,
        base_url="http://many.localhost/api",
        limits=Limits(connect_timeout=0.2, deadline=0.5),
    )
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded) as caught:
        post(transport)
    assert 0.4 < time.monotonic() - started < 3
    assert caught.value.maybe_done is False


def test_the_next_address_is_tried_when_the_first_is_deaf(
    deaf_port: int, serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = (deaf_port, serve(answer(OK)).port)
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: found)
    transport = Transport(
        secret_key=KEY,
        base_url="http://two.localhost/api",
        limits=Limits(connect_timeout=0.2, deadline=5),
    )
    assert get(transport).status == 200


@pytest.mark.parametrize("script", [say_nothing, trickle_headers, trickle_body])
def test_the_deadline_holds_over_tls(
    script: Any, certificate: tuple[Path, ssl.SSLContext], serve: Callable[..., RawServer]
) -> None:
    server = serve(script, certificate[1])
    transport = to(
        server,
        base_url=f"https://127.0.0.1:{server.port}/api",
        ca_bundle=str(certificate[0]),
        limits=Limits(deadline=0.6, read_timeout=10),
    )
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        get(transport)
    assert 0.5 < time.monotonic() - started < 3


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_that_stops_reading_does_not_hold_a_large_write(
    tls: bool, certificate: tuple[Path, ssl.SSLContext], serve: Callable[..., RawServer]
) -> None:
    server = serve(say_nothing, certificate[1] if tls else None)
    base_url = f"http{'s' if tls else ''}://127.0.0.1:{server.port}/api"
    transport = to(
        server,
        base_url=base_url,
        ca_bundle=str(certificate[0]),
        limits=Limits(deadline=1, read_timeout=0.6),
    )
    started = time.monotonic()
    with pytest.raises(ServiceUnavailable) as caught:
        transport.exchange("POST", transport.target("/page"), json_body={"name": "x" * 16_000_000})
    assert time.monotonic() - started < 5
    assert caught.value.maybe_done is True
