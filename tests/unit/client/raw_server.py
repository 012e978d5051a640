"""A server on bare sockets, for what no HTTP server would do; and scripts for it."""

import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from payments_pages.client.responses import Response
from payments_pages.client.transport import Transport
from payments_pages.exceptions import (
    ServiceError,
)
from payments_pages.limits import Limits

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
        head, _end, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        # A large body is left unread: some scripts want the sender to wait.
        while length and len(body) < int(length[1]) < 65536 and (piece := connection.recv(65536)):
            body += piece
        return head + b"\r\n\r\n" + body


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


def to(server: RawServer, **changes: Any) -> Transport:
    base_url = f"http://127.0.0.1:{server.port}/api"
    arguments: dict[str, Any] = {"secret_key": KEY, "base_url": base_url}
    return Transport(**(arguments | {"limits": Limits(deadline=5)} | changes))


def get(transport: Transport, reference: str = "PPG-1001", **more: Any) -> Response:
    return transport.exchange("GET", transport.target("/transaction/verify/{}", reference), **more)


def post(transport: Transport) -> Response:
    return transport.exchange("POST", transport.target("/page"), json_body={"name": "x"})


def failure_of(transport: Transport) -> ServiceError | None:
    try:
        get(transport)
    except ServiceError as error:
        return error
    return None
