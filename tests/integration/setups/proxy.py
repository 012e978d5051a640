"""A reverse proxy in front of a site: it ends below a path, or leads to a unix socket."""

import http.client
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

__all__ = ["Proxy"]

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "date", "server"}


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=30)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self._path)


class Proxy:
    """One proxy on a free port; `leads_to` is set once the site listens.

    `kind` says how it treats the path and the host, as `Setup.proxy` does; `prefix` is the path
    below which it serves the site. What is not below it is answered 404 and never sent on.
    """

    def __init__(self, *, kind: str, prefix: str) -> None:
        self.kind, self.prefix = kind, prefix
        self.leads_to: Path | str = ""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                proxy.forward(self)

            do_POST = do_HEAD = do_GET  # noqa: N815 - names of the standard library

            def log_message(self, *_said: object) -> None:
                """Say nothing: the site has its own log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def origin(self) -> str:
        """The address at which payers and staff reach it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def forward(self, incoming: BaseHTTPRequestHandler) -> None:
        """Send one request on, and its answer back."""
        if not incoming.path.startswith(f"{self.prefix}/"):
            incoming.send_error(404, "Not below the path of this site")
            return
        body = incoming.rfile.read(int(incoming.headers.get("Content-Length") or 0))
        headers = {k: v for k, v in incoming.headers.items() if k.lower() not in HOP_BY_HOP}
        headers["X-Forwarded-For"] = incoming.client_address[0]
        path = incoming.path
        if self.kind == "strip":
            path = path.removeprefix(self.prefix)
        elif self.kind == "script-name":
            headers["SCRIPT_NAME"] = self.prefix
        elif self.kind == "host":
            headers |= {"Host": "site.internal", "X-Forwarded-Host": headers["Host"]}
        connection = self._connect()
        try:
            connection.request(incoming.command, path, body, headers)
            self._answer(incoming, connection.getresponse())
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        if isinstance(self.leads_to, Path):
            return _UnixConnection(str(self.leads_to))
        return http.client.HTTPConnection(urlsplit(self.leads_to).netloc, timeout=30)

    def _answer(self, incoming: BaseHTTPRequestHandler, answer: http.client.HTTPResponse) -> None:
        content = answer.read()
        incoming.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {*HOP_BY_HOP, "content-length"}:
                incoming.send_header(name, value)
        incoming.send_header("Content-Length", str(len(content)))
        incoming.end_headers()
        if incoming.command != "HEAD":
            incoming.wfile.write(content)
