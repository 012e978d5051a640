"""The connections of a thread, on which every wait ends with the deadline of the call.

The timeouts of `requests` limit a single wait: a service that sends one byte a second keeps its
caller for hours. Here each connect, handshake, send and receive may last only as long as the call
has time left, without a watchdog thread. The look-up of a name cannot be cut short; its time
counts, and a call that has none left after it fails.

This stands on parts of urllib3 and requests that are not documented for it: `_new_conn`,
`response_class`, `ConnectionCls`, `pool_classes_by_scheme` (also of a proxy's pools), `HTTPAdapter.build_response` and
`Session.send`. They were read in urllib3 2.8 and requests 2.34; the newest of both are tested nightly.
"""

import http.client
import io
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final

import requests
import requests.adapters
import requests.auth
import urllib3.connection
import urllib3.connectionpool
from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from payments_pages.credentials import SecretKey, read_key
from payments_pages.limits import Limits

__all__ = [
    "BearerKey",
    "Deadline",
    "DeadlineAdapter",
    "Session",
    "thread_session",
    "under",
]

PIECE: Final = 16 * 1024


class Deadline:
    """The deadline of one call (monotonic clock), which starts now, and the limits of its waits.

    `connecting` is true from the start of a connection until bytes of the request may have
    left: the service cannot have acted upon a call that fails in this time. `connected` is true
    once a connection was opened for this call, not taken from those kept alive. `response` is the
    last one that was begun, the service's or a proxy's.
    """

    __slots__ = ("_end", "connected", "connecting", "limits", "response")

    def __init__(self, limits: Limits) -> None:
        self._end = time.monotonic() + limits.deadline
        self.limits = limits
        self.connecting = False
        self.connected = False
        self.response: http.client.HTTPResponse | None = None

    def remaining(self) -> float:
        """Return the seconds that are left; zero or less: the call has failed."""
        return self._end - time.monotonic()

    def cap(self, seconds: float) -> float:
        """Return how long the next wait may last; raise `TimeoutError` if no time is left."""
        left = self.remaining()
        if left <= 0:
            raise TimeoutError("the call's deadline has passed")
        return min(seconds, left)


_calls = threading.local()


@contextmanager
def under(deadline: Deadline) -> Iterator[None]:
    """Limit the waits of this thread by `deadline`; the adapter works only inside this block."""
    _calls.deadline = deadline
    try:
        yield
    finally:
        del _calls.deadline


def _current() -> Deadline:
    deadline: Deadline = _calls.deadline
    return deadline


class _BoundReader(io.RawIOBase):
    """The raw file of a socket; each wait lasts at most as long as the call has time left."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._sock = sock
        # The socket's own file counts its readers: http.client closes the connection early, and
        # the socket must stay open until the body has been read.
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        deadline = _current()
        self._sock.settimeout(deadline.cap(deadline.limits.read_timeout))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundSocket:
    """The part of a socket that http.client's response uses: a file to read from."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def makefile(self, *_arguments: Any) -> io.BufferedReader:
        return io.BufferedReader(_BoundReader(self._sock))


class _BoundResponse(http.client.HTTPResponse):
    def __init__(self, sock: Any, *arguments: Any, **named: Any) -> None:
        super().__init__(_BoundSocket(sock), *arguments, **named)  # type: ignore[arg-type]
        _current().response = self


class _BoundHTTPConnection(urllib3.connection.HTTPConnection):
    response_class = _BoundResponse

    def connect(self) -> None:
        deadline = _current()
        deadline.connecting = True
        try:
            super().connect()
        finally:
            # A proxy's answer: Python 3.11.2, for one, leaves it open, and the socket with it.
            if deadline.response is not None:
                deadline.response.close()
        deadline.connecting = False
        deadline.connected = True

    def send(self, data: Any) -> None:
        """Send in pieces: TLS starts its timeout anew with each record."""
        if self.sock is None:
            self.connect()
        deadline = _current()
        for start in range(0, len(data), PIECE):
            self.sock.settimeout(deadline.cap(deadline.limits.read_timeout))
            super().send(data[start : start + PIECE])

    def _new_conn(self) -> socket.socket:
        """Try each address of the name, all of them within what is left of the call."""
        try:
            found = socket.getaddrinfo(self.host.strip("[]"), self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise NewConnectionError(self, "the name could not be resolved") from error
        timed_out = False
        for family, kind, protocol, _name, address in found:
            try:
                return self._opened(socket.socket(family, kind, protocol), address)
            except OSError as error:
                timed_out |= isinstance(error, TimeoutError)
        if timed_out:
            raise ConnectTimeoutError(self, "no address answered in time")
        raise NewConnectionError(self, "no address could be reached")

    def _opened(self, sock: socket.socket, address: Any) -> socket.socket:
        deadline = _current()
        try:
            for option in self.socket_options or ():
                sock.setsockopt(*option)
            sock.settimeout(deadline.cap(deadline.limits.connect_timeout))
            sock.connect(address)
            # Counts for the whole TLS handshake that may follow.
            sock.settimeout(deadline.cap(deadline.limits.connect_timeout))
        except OSError:
            sock.close()
            raise
        return sock


class _BoundHTTPSConnection(_BoundHTTPConnection, urllib3.connection.HTTPSConnection):
    pass


class _BoundHTTPPool(urllib3.connectionpool.HTTPConnectionPool):
    ConnectionCls = _BoundHTTPConnection


class _BoundHTTPSPool(urllib3.connectionpool.HTTPSConnectionPool):
    ConnectionCls = _BoundHTTPSConnection


_POOLS: Final = {"http": _BoundHTTPPool, "https": _BoundHTTPSPool}


class DeadlineAdapter(requests.adapters.HTTPAdapter):
    """The adapter of requests for connections that keep the deadline of `under()`."""

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        """Wrap a response, without its cookies and its guessed encoding, which nobody reads."""
        response = requests.Response()
        response.status_code = resp.status
        response.headers = CaseInsensitiveDict(resp.headers)
        response.raw, response.reason = resp, resp.reason
        response.url, response.request = req.url or "", req
        return response

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        """Make the pools, of our connection classes."""
        super().init_poolmanager(*arguments, **named)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: Any, **named: Any) -> Any:
        """Make the pools of a proxy, of our connection classes as well."""
        manager = super().proxy_manager_for(proxy, **named)
        manager.pool_classes_by_scheme = _POOLS
        return manager


class BearerKey(requests.auth.AuthBase):
    """The secret key, which requests puts into the header (docs/service.md: Authentication)."""

    __slots__ = ("_source",)

    def __init__(self, source: SecretKey) -> None:
        self._source = source

    def __repr__(self) -> str:
        return "<the secret key>"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Set the header; requests calls this when it prepares a request."""
        request.headers["Authorization"] = f"Bearer {self.key()}"
        return request

    def key(self) -> str:
        """Return the key, read anew; raise `UnusableKey`, which does not quote it (docs/cases.md C19)."""
        return read_key(self._source)


class Session(requests.Session):
    """A session that follows no redirect, keeps no cookie and reads no environment."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("https://", "http://"):
            self.mount(scheme, DeadlineAdapter(pool_connections=4, pool_maxsize=1))

    def send(self, request: requests.PreparedRequest, **named: Any) -> requests.Response:
        """Send by the adapter, and do nothing that a session does around that.

        We want no cookies, hooks and redirects, and they take a tenth of a call's time.
        """
        named.pop("allow_redirects", None)
        return self.get_adapter(request.url or "").send(request, **named)


_threads = threading.local()


def thread_session() -> Session:
    """Return this thread's session; a forked child gets a new one."""
    pid, session = getattr(_threads, "session", (None, None))
    if session is None or pid != os.getpid():
        session = Session()
        _threads.session = (os.getpid(), session)
    return session
