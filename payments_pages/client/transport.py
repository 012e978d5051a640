"""One HTTP exchange with the service, within a total deadline; the key reaches nobody else.

Refused are redirects (their body would be believed), proxies and credentials from the environment
(a `.netrc` would replace the key; a proxy that the caller names is used), TLS that is not verified, plain http to another machine, bodies
beyond a size, and every response after the deadline.
"""

import hashlib
import json
import logging
import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import requests
from requests.structures import CaseInsensitiveDict

from payments_pages import __version__
from payments_pages.client.connections import BearerKey, Deadline, thread_session, under
from payments_pages.client.failures import FOREIGN, failure_from, is_broken, is_worth_repeating
from payments_pages.client.resilience import Breaker, Gates
from payments_pages.client.responses import Response, read_response
from payments_pages.client.targets import (
    Target,
    build_target,
    checked_base_url,
    checked_proxy,
)
from payments_pages.exceptions import ConfigurationError, DeadlineExceeded, NotAsked, ServiceError
from payments_pages.limits import DEFAULT_LIMITS, Limits
from payments_pages.redaction import redact

__all__ = ["SIZE_LIMIT", "Transport"]

SIZE_LIMIT: Final = 1024 * 1024
PAUSES: Final = (0.05, 0.25)
"""Seconds, drawn between these two, before a GET is asked once more."""
UNWELL: Final = frozenset({408, 425, 429})
"""Statuses below 500 that the breaker counts as failures."""
# A 429 asks for fewer calls, and a 501 will not change its mind.
_WORTH_ASKING_AGAIN: Final = frozenset({408, 425, 500, 502, 503, 504})

logger = logging.getLogger("payments_pages.transport")

_HEADERS: Final = CaseInsensitiveDict(
    {
        "Accept": "application/json",
        # Compression saves nothing on a few kilobytes and lets a small answer become a huge one.
        "Accept-Encoding": "identity",
        "User-Agent": f"payments-pages/{__version__}",
    }
)


@dataclass(frozen=True, slots=True)
class _Call:
    request: requests.PreparedRequest
    target: Target
    deadline: Deadline
    size_limit: int


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The end of one attempt.

    `stale`: the service had closed a connection that we kept alive. `again`: the failure may be
    over a moment later.
    """

    result: Response | ServiceError
    stale: bool
    again: bool

    @property
    def is_unwell(self) -> bool:
        """Tell whether the breaker counts it as a failure: no response, 5xx, 408, 425 or 429."""
        if isinstance(self.result, ServiceError):
            return True
        return self.result.status >= 500 or self.result.status in UNWELL


class Transport:
    """Requests to one service under one key, and its responses.

    Connections are kept for each process and thread, not for each transport: a connection that two
    processes share would give one process the response to the other. `gates` counts the calls in
    progress, and stops calls to a service that keeps failing.
    """

    def __init__(
        self,
        *,
        secret_key: str | Callable[[], str],
        base_url: str,
        limits: Limits = DEFAULT_LIMITS,
        proxy: str | None = None,
        ca_bundle: str | None = None,
        gates: Gates | None = None,
    ) -> None:
        self.base_url = checked_base_url(base_url)
        if ca_bundle is not None and not Path(ca_bundle).exists():
            raise ConfigurationError(f"There is no CA bundle at {ca_bundle}.")
        self._auth = BearerKey(secret_key)
        self._verify: str | bool = ca_bundle or True
        # Through a tunnel, which hides the key from the proxy. Plain http is for this machine alone.
        self._proxies = {"https": checked_proxy(proxy)} if proxy else {}
        self._limits = limits
        self._gates = gates

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
    ) -> Response:
        """Make one exchange within the deadline.

        - A GET is repeated once, if there is time, after no connection, a broken connection, or a
          500, 502, 503, 504, 408 or 425.
        - It is not repeated after a read timeout (a second call does not help a slow service), nor
          when the response has Retry-After. We never sleep for Retry-After.
        - A GET or PUT is sent again at once if the service had closed the kept connection.
        - A POST is sent once.

        Raise `NotAsked` if no call was made, `ServiceUnavailable`, `DeadlineExceeded` or
        `InvalidResponse` (also for a redirect). Their `maybe_done` is true if a write may have
        reached the service.
        """
        request = self._request(method, target, json_body)
        call = _Call(request, target, Deadline(self._limits), size_limit)
        try:
            with self._gate(request) as breaker:
                result = self._call_twice_at_most(call, breaker)
        except NotAsked as error:
            logger.info(
                "service.not_asked: %s %s: %s",
                method,
                target.path,
                error,
                extra={"method": method, "path": target.path},
            )
            raise
        if isinstance(result, ServiceError):
            raise result
        return result

    def _gate(self, request: requests.PreparedRequest) -> AbstractContextManager[Breaker]:
        if self._gates is None:
            return nullcontext(Breaker())
        header = request.headers["Authorization"].encode()
        key_hash = hashlib.sha256(header).digest()
        return self._gates.opened(self.base_url, key_hash, max_calls=self._limits.max_calls)

    def _call_twice_at_most(self, call: "_Call", breaker: Breaker) -> Response | ServiceError:
        """Try once, and once more where that may help; report both to the breaker."""
        first = self._timed_attempt(call, breaker, number=1)
        pause = _pause_before_repeat(call.request.method or "", first)
        if pause is None or pause >= call.deadline.remaining() or not breaker.admit():
            return first.result
        time.sleep(pause)
        result = self._timed_attempt(call, breaker, number=2).result
        if isinstance(result, ServiceError) and isinstance(first.result, ServiceError):
            result.maybe_done |= first.result.maybe_done
        return result

    def _timed_attempt(self, call: "_Call", breaker: Breaker, *, number: int) -> "_Attempt":
        started = time.monotonic()
        attempt = self._attempt(call)
        if attempt.is_unwell:
            breaker.fail()
        else:
            breaker.succeed()
        milliseconds = round((time.monotonic() - started) * 1000)
        method, result = call.request.method, attempt.result
        good = isinstance(result, Response) and 200 <= result.status < 300
        logger.log(
            logging.DEBUG if good else logging.INFO,
            "service.called: %s %s: %s, %s, %d ms, attempt %d",
            method,
            call.target.path,
            result.status or "no status",
            type(result).__name__,
            milliseconds,
            number,
            extra={
                "method": method,
                "path": call.target.path,
                "status": result.status,
                "outcome": type(result).__name__,
                "milliseconds": milliseconds,
                "attempt": number,
            },
        )
        return attempt

    def redacted(self, text: str) -> str:
        """Remove the key, and all that looks like a secret, from a text of the service."""
        return redact(text, self._auth.key(), limit=300)

    def _request(
        self, method: str, target: Target, json_body: Mapping[str, Any] | None
    ) -> requests.PreparedRequest:
        request = requests.PreparedRequest()
        request.prepare_method(method)
        # Not prepare_url(), which would normalise: the target must arrive as it was built.
        request.url = target.url
        request.headers = _HEADERS.copy()
        if json_body is not None:
            request.headers["Content-Type"] = "application/json"
            request.prepare_body(json.dumps(json_body, allow_nan=False).encode(), files=None)
        return self._auth(request)

    def _attempt(self, call: "_Call") -> "_Attempt":
        """Try once. An error is returned, not raised: it must not carry another one."""
        request, deadline = call.request, call.deadline
        deadline.connected = deadline.connecting = False
        response = None
        stale = again = False
        result: Response | ServiceError
        try:
            with under(deadline):
                response = thread_session().send(
                    request,
                    stream=True,
                    allow_redirects=False,
                    timeout=(self._limits.connect_timeout, self._limits.read_timeout),
                    verify=self._verify,
                    proxies=self._proxies,
                )
                result = read_response(response, call.size_limit)
        except FOREIGN as error:
            result = failure_from(error)
            deadline.connecting |= isinstance(error, requests.ConnectTimeout)
            kept = not (deadline.connected or deadline.connecting)
            stale = kept and response is None and is_broken(error)
            again = is_worth_repeating(error)
        connecting = deadline.connecting
        if deadline.remaining() <= 0:
            # Whatever came back: headers that were cut off can look like an empty response.
            result = DeadlineExceeded("The service did not answer within the call's time.")
        if isinstance(result, ServiceError):
            result.maybe_done = request.method != "GET" and not connecting
            if response is not None:
                response.close()
        return _Attempt(result, stale=stale, again=again)


def _pause_before_repeat(method: str, attempt: _Attempt) -> float | None:
    """Return the seconds after which this call may be sent once more; None: it may not."""
    result = attempt.result
    if attempt.stale and method in {"GET", "PUT"}:
        return 0.0
    if method != "GET":
        return None
    again = attempt.again
    if isinstance(result, Response):
        again = result.status in _WORTH_ASKING_AGAIN and not result.retry_after
    return random.uniform(*PAUSES) if again else None  # noqa: S311 - spreads load, guards nothing
