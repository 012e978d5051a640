"""A server of a WSGI application over HTTP/1.1, with connections that stay open.

The development servers at hand close after each answer; a client's pooled session would never
be put to the test, nor could a benchmark tell its cost from that of connecting.
"""

import io
import logging
import socket
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

__all__ = ["CONNECTION", "TARGET", "HttpServer"]

CONNECTION = "payments_pages.sandbox.connection"
"""Environ key of the connection's socket, for answers that are sent badly on purpose."""
TARGET = "RAW_URI"
"""Environ key of the request target as it came, still percent-encoded."""

BACKLOG = 256
MAX_BODY = 1 << 20

_logger = logging.getLogger(__name__)


class HttpServer(ThreadingHTTPServer):
    """A threaded server, bound at once to an address.

    Set `application` before `serve_forever()`: the port it may need to know is known by then.
    """

    daemon_threads = True
    request_queue_size = BACKLOG

    application: "WSGIApplication"

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._connections: set[socket.socket] = set()
        super().__init__((host, port), _Handler)

    @property
    def port(self) -> int:
        """Tell the port, also when it was left to the system."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Bind without looking up a name for the address: that may take seconds."""
        TCPServer.server_bind(self)
        self.server_name = str(self.server_address[0])
        self.server_port = int(self.server_address[1])

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection and remember it."""
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """Close a connection and forget it."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def stop(self) -> None:
        """Stop serving, and close every connection, also idle ones, so that its thread ends."""
        self.shutdown()
        self.server_close()
        for connection in tuple(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                # Its own thread closed it first.
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "payments-pages-sandbox"
    disable_nagle_algorithm = True
    # Head and body leave in one write.
    wbufsize = 1 << 16
    server: HttpServer

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    def finish(self) -> None:
        try:
            super().finish()
        except (OSError, ValueError):
            # The connection was ended on purpose, or by the other side.
            self.close_connection = True

    def handle_expect_100(self) -> bool:
        """Let the client send its body now: what is buffered would reach it too late."""
        going_on = super().handle_expect_100()
        self.wfile.flush()
        return going_on

    def version_string(self) -> str:
        """Name the software, without versions."""
        return self.server_version

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http's
        """Stay quiet: the sandbox keeps its own log of requests."""

    def _serve(self) -> None:
        body = self._read_body()
        if body is None:
            return
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(
            status: str, headers: list[tuple[str, str]], _exc_info: object = None
        ) -> Any:
            started.append((status, headers))
            return None

        try:
            chunks = self.server.application(self._environ(body), cast("Any", start_response))
            payload = _gather(chunks)
        except ConnectionError:
            raise
        except Exception:
            _logger.exception("The sandbox failed to answer %s", self.command)
            started.append(("500 Internal Server Error", [("Content-Type", "text/plain")]))
            payload = b"The sandbox failed."
        self._send(*started[-1], payload)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve  # noqa: N815

    def _read_body(self) -> bytes | None:
        """Read the whole body, so that the next request starts where it should."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            self._refuse("411 Length Required")
            return None
        if len(length) > 9 or int(length) > MAX_BODY:
            self._refuse("413 Content Too Large")
            return None
        return self.rfile.read(int(length))

    def _refuse(self, status: str) -> None:
        # Where the next request would start is not known.
        self._send(status, [("Content-Type", "text/plain"), ("Connection", "close")], b"")

    def _environ(self, body: bytes) -> dict[str, Any]:
        path, _question_mark, query = self.path.partition("?")
        environ: dict[str, Any] = {
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            "REQUEST_METHOD": self.command,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "REMOTE_ADDR": self.client_address[0],
            "SERVER_NAME": self.server.server_name,
            "SERVER_PORT": str(self.server.port),
            "SERVER_PROTOCOL": self.request_version,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            TARGET: self.path,
            CONNECTION: self.connection,
        }
        for name, value in self.headers.items():
            key = name.upper().replace("-", "_")
            if key not in {"CONTENT_TYPE", "CONTENT_LENGTH"} and "_" not in name:
                environ[f"HTTP_{key}"] = value
        return environ

    def _send(self, status: str, headers: list[tuple[str, str]], body: bytes) -> None:
        code, _space, phrase = status.partition(" ")
        self.send_response(int(code), phrase)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name, _value in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()


def _gather(chunks: Iterable[bytes]) -> bytes:
    try:
        return b"".join(chunks)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
