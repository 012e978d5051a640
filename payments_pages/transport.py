"""Carry one HTTP exchange to the service, under a total deadline, and tell nobody the key.

What is refused here: redirects (their body would be believed), proxies and credentials from the
environment (a `.netrc` would replace the key), unverified TLS, plain http off loopback, bodies
beyond a size, and everything after the deadline, whatever came back.
"""

import json
import logging
import os
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any, Final

import requests
import requests.auth
import urllib3.exceptions
from urllib3.exceptions import HTTPError, InvalidHeader

from payments_pages import __version__
from payments_pages.addresses import Target, build_target, checked_base_url
from payments_pages.exceptions import (
    ConfigurationError,
    DeadlineExceeded,
    InvalidResponse,
    ServiceError,
    ServiceUnavailable,
)
from payments_pages.redaction import redact
from payments_pages.sockets import Deadline, DeadlineAdapter, under

__all__ = ["SIZE_LIMIT", "Answer", "Transport"]

SIZE_LIMIT: Final = 1024 * 1024
PIECE: Final = 64 * 1024

_TIMEOUTS: Final = (TimeoutError, requests.Timeout, urllib3.exceptions.TimeoutError)
_CUT: Final = (RemoteDisconnected, IncompleteRead, ConnectionError)
_GARBLED: Final = (HTTPException, InvalidHeader, zlib.error)

logger = logging.getLogger("payments_pages.transport")

_HEADERS: Final = {
    "Accept": "application/json",
    # Compression saves nothing on a few kilobytes and lets a small answer become a huge one.
    "Accept-Encoding": "identity",
    "User-Agent": f"payments-pages/{__version__}",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Be an HTTP answer: status, the two headers that matter, and the decoded body."""

    status: int
    content_type: str = ""
    retry_after: str = ""
    body: bytes = field(default=b"", repr=False)


class Transport:
    """Exchange requests and answers with one service under one key.

    Times are in seconds. Connections are kept per process and thread, for all transports: a
    connection shared over a fork gives the answers of one process to another.
    """

    def __init__(
        self,
        *,
        secret_key: str | Callable[[], str],
        base_url: str,
        connect_timeout: float = 3,
        read_timeout: float = 5,
        deadline: float = 8,
        ca_bundle: str | None = None,
    ) -> None:
        self.base_url = checked_base_url(base_url)
        if ca_bundle is not None and not Path(ca_bundle).exists():
            raise ConfigurationError(f"There is no CA bundle at {ca_bundle}.")
        self._auth = _BearerKey(secret_key)
        self._verify: str | bool = ca_bundle or True
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._deadline = deadline

    def __repr__(self) -> str:
        return f"<Transport {self.base_url}>"

    def target(
        self, path: str, *values: str, query: Mapping[str, str | int] | None = None
    ) -> Target:
        """Build the address of a call below the base URL (see `build_target`)."""
        return build_target(self.base_url, path, *values, query=query)

    def exchange(
        self,
        method: str,
        target: Target,
        *,
        json_body: Mapping[str, Any] | None = None,
        size_limit: int = SIZE_LIMIT,
        budget: float | None = None,
    ) -> Answer:
        """Make one exchange within `budget` seconds (the deadline, unless less is given).

        Raise `ServiceUnavailable`, `DeadlineExceeded` or `InvalidResponse` (also for a
        redirect); their `maybe_done` is true when a write may have reached the service.
        Retries, bulkhead and breaker belong around `_attempt`.
        """
        started = time.monotonic()
        request = self._request(method, target, json_body)
        seconds = self._deadline if budget is None else min(budget, self._deadline)
        result = self._attempt(request, seconds, size_limit)
        good = isinstance(result, Answer) and 200 <= result.status < 300
        logger.log(
            logging.DEBUG if good else logging.INFO,
            "%s %s: %s, %s, %d ms",
            method,
            target.path,
            result.status or "no status",
            type(result).__name__,
            (time.monotonic() - started) * 1000,
        )
        if isinstance(result, ServiceError):
            raise result
        return result

    def redacted(self, text: str) -> str:
        """Take the key, and all that looks like a secret, out of the service's words."""
        return redact(text, self._auth.key(), limit=300)

    def _request(
        self, method: str, target: Target, json_body: Mapping[str, Any] | None
    ) -> requests.PreparedRequest:
        request = requests.PreparedRequest()
        request.prepare_method(method)
        # Not prepare_url(), which would normalise: the target must arrive as it was built.
        request.url = target.url
        request.prepare_headers(_HEADERS)
        if json_body is not None:
            request.headers["Content-Type"] = "application/json"
            request.prepare_body(json.dumps(json_body, allow_nan=False).encode(), files=None)
        request.prepare_auth(self._auth, target.url)
        return request

    def _attempt(
        self, request: requests.PreparedRequest, seconds: float, size_limit: int
    ) -> Answer | ServiceError:
        """Try once. The error is returned, not raised, so that it carries no other error.

        The exceptions of `requests` hold the request, and with it the key.
        """
        deadline = Deadline(
            seconds, connect_timeout=self._connect_timeout, read_timeout=self._read_timeout
        )
        response = None
        answer: Answer | ServiceError
        try:
            with under(deadline):
                response = _session().send(
                    request,
                    stream=True,
                    allow_redirects=False,
                    timeout=(self._connect_timeout, self._read_timeout),
                    verify=self._verify,
                    proxies={},
                )
                answer = _answer(response, size_limit)
        except (OSError, HTTPError, HTTPException, ValueError, zlib.error) as error:
            answer = _failure(error)
            deadline.connecting |= isinstance(error, requests.ConnectTimeout)
        connecting = deadline.connecting
        if deadline.remaining() <= 0:
            # Whatever came back: a header phase cut short can look like an empty answer.
            answer = DeadlineExceeded("The service did not answer within the call's time.")
        if isinstance(answer, ServiceError):
            answer.maybe_done = request.method != "GET" and not connecting
            if response is not None:
                response.close()
        return answer


class _BearerKey(requests.auth.AuthBase):
    """Add the key to a request (interface: Authentication), and to nothing else."""

    __slots__ = ("_source",)

    def __init__(self, source: str | Callable[[], str]) -> None:
        self._source = source

    def __repr__(self) -> str:
        return "<the secret key>"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self.key()}"
        return request

    def key(self) -> str:
        """Give the key without surrounding white space; raise without quoting it (case C19)."""
        key = self._source() if callable(self._source) else self._source
        key = key.strip() if isinstance(key, str) else ""
        if key and key.isascii() and key.isprintable() and " " not in key:
            return key
        # Error pages show the variables of each frame.
        del key
        raise ConfigurationError(
            "The secret key is empty or holds characters that no header can carry."
        )


class _Session(requests.Session):
    """Follow nothing, remember nothing, read nothing from the environment."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("https://", "http://"):
            self.mount(scheme, DeadlineAdapter(pool_connections=4, pool_maxsize=1))

    def get_redirect_target(self, _response: requests.Response) -> None:
        """Find none: otherwise requests reads a redirect's whole body, whatever its size."""


_threads = threading.local()


def _session() -> _Session:
    """Give this thread's session, a new one in a forked child."""
    pid, session = getattr(_threads, "session", (None, None))
    if session is None or pid != os.getpid():
        session = _Session()
        _threads.session = (os.getpid(), session)
    return session


def _answer(response: requests.Response, size_limit: int) -> Answer | InvalidResponse:
    status = response.status_code
    if 300 <= status < 400:
        return InvalidResponse("The service answers with a redirect.", status=status)
    body = _body(response, size_limit)
    if body is None:
        return InvalidResponse("The answer is too large or compressed in no way we asked for.")
    headers = response.headers
    return Answer(status, headers.get("Content-Type", ""), headers.get("Retry-After", ""), body)


def _body(response: requests.Response, limit: int) -> bytes | None:
    """Read the body in pieces; None if, decoded, it is larger than `limit` bytes."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    declared = response.headers.get("Content-Length", "")
    if encoding not in ("identity", "gzip") or (declared.isdigit() and int(declared) > limit):
        return None
    expander = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
    pieces: list[bytes] = []
    size = 0
    while piece := response.raw.read(PIECE, decode_content=False):
        part = expander.decompress(piece, limit + 1 - size) if expander else piece
        size += len(part)
        if size > limit:
            return None
        pieces.append(part)
    return b"".join(pieces)


def _failure(error: BaseException) -> ServiceError:
    """Say in our words what went wrong; nothing of the foreign error goes along."""
    causes = tuple(_causes(error))
    if any(isinstance(cause, requests.exceptions.SSLError | ssl.SSLError) for cause in causes):
        return ServiceUnavailable("The service's TLS handshake or certificate failed.")
    if any(isinstance(cause, _TIMEOUTS) for cause in causes):
        return ServiceUnavailable("The service did not answer in time.")
    if any(isinstance(cause, _CUT) for cause in causes):
        return ServiceUnavailable("The connection to the service broke.")
    if any(isinstance(cause, _GARBLED) for cause in causes):
        return InvalidResponse("The answer is not HTTP.")
    return ServiceUnavailable("The service could not be reached.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
