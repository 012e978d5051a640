"""Calls through the proxy that a setting names: in a tunnel, within the deadline."""

import base64
import gc
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from payments_pages.client import Limits, get_client
from payments_pages.client.targets import checked_proxy
from payments_pages.client.transport import Transport
from payments_pages.exceptions import ConfigurationError, InvalidResponse, ServiceError
from tests.unit.client.raw_server import KEY, OK, RawServer, answer, get, to


class Proxy:
    """A proxy that opens tunnels, or answers `refusal`, or says nothing if that is None."""

    def __init__(self, refusal: bytes | None = b"") -> None:
        self.refusal = refusal
        self.heard: list[bytes] = []
        self.threads: list[threading.Thread] = []

    def __enter__(self) -> "Proxy":
        self._over = ExitStack()
        self._listener = self._over.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self.threads[:1]:
            thread.join(5)  # no connection is added after this
        self._over.close()
        for thread in self.threads:
            thread.join(5)

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _address = self._listener.accept()
                self._over.callback(_shut, connection)
                self._start(self._tunnel, connection)

    def _tunnel(self, connection: socket.socket) -> None:
        request = b""
        with suppress(OSError):
            while b"\r\n\r\n" not in request:
                request += connection.recv(4096)
            self.heard.append(request)
            if self.refusal is None:
                return
            if self.refusal:
                connection.sendall(self.refusal)
                connection.close()
                return
            host, port = request.split()[1].decode().rsplit(":", 1)
            far = socket.create_connection((host, int(port)))
            self._over.callback(_shut, far)
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self._start(self._pipe, connection, far)
            self._start(self._pipe, far, connection)

    def _pipe(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(4096):
                self.heard.append(piece)
                sink.sendall(piece)


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy() as opened:
        yield opened


@pytest.fixture
def service(certificate: tuple[Path, ssl.SSLContext], serve: Callable[..., RawServer]) -> RawServer:
    return serve(answer(OK), certificate[1])


def through(
    service: RawServer, proxy: Proxy, certificate: tuple[Path, ssl.SSLContext], user: str = ""
) -> Transport:
    return to(
        service,
        base_url=f"https://127.0.0.1:{service.port}/api",
        ca_bundle=str(certificate[0]),
        proxy=f"http://{user}127.0.0.1:{proxy.port}",
        limits=Limits(deadline=2, read_timeout=1),
    )


def test_a_call_goes_through_a_tunnel_in_which_the_proxy_reads_nothing(
    service: RawServer, proxy: Proxy, certificate: tuple[Path, ssl.SSLContext]
) -> None:
    transport = through(service, proxy, certificate)
    assert get(transport).body == b'{"status":true}'
    assert get(transport).body == b'{"status":true}'
    assert service.connections == 1, "the tunnel is kept"
    assert proxy.heard[0].startswith(b"CONNECT 127.0.0.1:")
    assert KEY.encode() not in b"".join(proxy.heard)
    assert b"Authorization" not in proxy.heard[0]
    assert KEY.encode() in service.requests[0]


def test_the_proxys_own_password_is_for_the_proxy_alone(
    service: RawServer, proxy: Proxy, certificate: tuple[Path, ssl.SSLContext]
) -> None:
    get(through(service, proxy, certificate, user="shop:LEAKME@"))
    expected = base64.b64encode(b"shop:LEAKME")
    assert b"Proxy-Authorization: Basic " + expected in proxy.heard[0]
    assert expected not in service.requests[0]


@pytest.mark.parametrize(
    "refusal",
    [
        None,
        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
        b"nonsense",
    ],
)
def test_a_proxy_that_opens_no_tunnel_is_a_service_that_is_away(
    service: RawServer, certificate: tuple[Path, ssl.SSLContext], refusal: bytes | None
) -> None:
    started = time.monotonic()
    with Proxy(refusal) as proxy:
        transport = through(service, proxy, certificate, user="shop:LEAKME@")
        target = transport.target("/page")
        with pytest.raises(ServiceError) as caught:
            transport.exchange("POST", target, json_body={"name": "Tea box"})
    assert time.monotonic() - started < 4
    assert service.requests == []
    assert caught.value.maybe_done is False
    error: BaseException | None = caught.value
    while error is not None:
        assert "LEAKME" not in f"{error!r} {error}"
        error = error.__cause__
    del caught
    gc.collect()  # a socket that was left open would warn here


def test_plain_http_on_this_machine_never_goes_to_a_proxy(
    serve: Callable[..., RawServer], proxy: Proxy
) -> None:
    server = serve(answer(OK))
    assert get(to(server, proxy=f"http://127.0.0.1:{proxy.port}")).status == 200
    assert proxy.heard == []


def test_the_settings_name_proxy_and_authorities(
    service: RawServer,
    proxy: Proxy,
    certificate: tuple[Path, ssl.SSLContext],
    configure: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base_url = f"https://127.0.0.1:{service.port}/api"
    configure(BASE_URL=base_url, CA_BUNDLE=str(certificate[0]))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
    with pytest.raises(InvalidResponse):
        get_client().fetch_page(18)
    assert (len(service.requests), proxy.heard) == (1, []), "the environment names no proxy"
    configure(PROXY=f"http://127.0.0.1:{proxy.port}")
    with pytest.raises(InvalidResponse):
        get_client().fetch_page(18)
    assert (len(service.requests), len(proxy.heard) > 1) == (2, True)


@pytest.mark.parametrize(
    "text",
    ["proxy:3128", "https://proxy:3128", "http://proxy", "http://", "http://proxy:x", "ftp://p:1",
     "http://proxy:3128/path", "http://proxy:3128?x=1", "http://proxy:99999", "socks5://proxy:1080"],
)  # fmt: skip
def test_what_is_no_proxy_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        checked_proxy(text.replace("://", "://user:LEAKME@"))
    assert "LEAKME" not in str(caught.value)
