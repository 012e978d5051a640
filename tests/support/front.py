"""A server in front of another one, as proxies, firewalls and CDNs are; and a page that is none of ours."""

import threading
from collections.abc import Collection, Mapping
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from types import TracebackType
from typing import Any, Self

import requests

__all__ = ["Front"]


class Front:
    """A server that passes each request on to `behind`, changed as the arguments say.

    - `removes`: headers that do not reach the server behind.
    - `redirects_to`: every request is redirected to this origin; with `query` False without its
      query.
    - `seconds`: how far the `Date` of its answers is ahead.
    - `answers`: a status and a body in place of what is behind.
    - `port`: 0 takes a free one.

    Each but the port may be changed while it runs.
    """

    def __init__(
        self,
        behind: str = "",
        *,
        removes: Collection[str] = (),
        redirects_to: str = "",
        query: bool = True,
        seconds: float = 0,
        answers: tuple[int, str] | None = None,
        port: int = 0,
    ) -> None:
        self.behind = behind
        self.removes = removes
        self.redirects_to = redirects_to
        self.query = query
        self.seconds = seconds
        self.answers = answers
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        self._server.daemon_threads = True
        self._server.front = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Its origin."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    def _serve(self) -> None:
        front: Front = self.server.front  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if front.answers is not None:
            status, text = front.answers
            self._answer(status, {"Content-Type": "text/html"}, text.encode())
        elif front.redirects_to:
            path = self.path if front.query else self.path.partition("?")[0]
            self._answer(301, {"Location": front.redirects_to + path}, b"")
        else:
            self._pass_on(front, body)

    do_GET = do_POST = do_HEAD = _serve  # noqa: N815 - http.server calls these

    def _pass_on(self, front: Front, body: bytes) -> None:
        removed = {name.lower() for name in (*front.removes, "Host", "Connection")}
        headers = {k: v for k, v in self.headers.items() if k.lower() not in removed}
        with requests.Session() as session:
            session.trust_env = False
            found = session.request(
                self.command,
                front.behind + self.path,
                data=body,
                headers=headers,
                allow_redirects=False,
                timeout=30,
            )
        kept = {"content-length", "date", "connection", "transfer-encoding", "content-encoding"}
        answer = {k: v for k, v in found.headers.items() if k.lower() not in kept}
        self._answer(found.status_code, answer, found.content)

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        front: Front = self.server.front  # type: ignore[attr-defined]
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Date", formatdate(time() + front.seconds, usegmt=True))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http's
        """Stay quiet."""
