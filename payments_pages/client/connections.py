"""Bind every wait on a socket to one total deadline.

The timeouts of `requests` bound a single wait: a service that sends one byte a second holds a
caller for hours. Here each connect, handshake, send and receive may last only what is left of
the call, without a watchdog thread. Only the resolver's own look-up of a name cannot be bounded
from here; it is counted, and a call that comes back from it too late fails.
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

__all__ = ["BearerKey", "Deadline", "DeadlineAdapter", "thread_session", "under"]

PIECE: Final = 16 * 1024


class Deadline:
    """Be the end of one call, on the monotonic clock, and the longest of each wait.

    `connecting` is true from the start of a connection until bytes of the request may have
    left: a failure in that time is one that the service cannot have acted upon. `connected` is
    true once a connection was opened under this deadline, not taken from those kept alive.
    """

    __slots__ = ("_end", "connect_timeout", "connected", "connecting", "read_timeout")

    def __init__(self, seconds: float, *, connect_timeout: float, read_timeout: float) -> None:
        self._end = time.monotonic() + seconds
        self.connect_timeout = connect_timeout
        self.read_timeout = read_timeout
        self.connecting = False
        self.connected = False

    def remaining(self) -> float:
        """Give the seconds that are left; zero or less when the call has failed."""
        return self._end - time.monotonic()

    def cap(self, seconds: float) -> float:
        """Give how long the next wait may last; raise `TimeoutError` if no time is left."""
        left = self.remaining()
        if left <= 0:
            raise TimeoutError("the call's deadline has passed")
        return min(seconds, left)


_calls = threading.local()


@contextmanager
def under(deadline: Deadline) -> Iterator[None]:
    """Bind the waits of this thread to `deadline`; the adapter works in here only."""
    _calls.deadline = deadline
    try:
        yield
    finally:
        del _calls.deadline


def _current() -> Deadline:
    deadline: Deadline = _calls.deadline
    return deadline


class _BoundReader(io.RawIOBase):
    """Read from a socket's own raw file, each wait capped by what is left of the call."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._sock = sock
        # The socket's own file keeps count of its readers: closing the connection early, as
        # http.client does, must not take the socket away from a body still being read.
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        deadline = _current()
        self._sock.settimeout(deadline.cap(deadline.read_timeout))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundSocket:
    """Be what http.client's response asks of a socket: a file to read from."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def makefile(self, *_arguments: Any) -> io.BufferedReader:
        return io.BufferedReader(_BoundReader(self._sock))


class _BoundResponse(http.client.HTTPResponse):
    def __init__(self, sock: Any, *arguments: Any, **named: Any) -> None:
        super().__init__(_BoundSocket(sock), *arguments, **named)  # type: ignore[arg-type]


class _BoundHTTPConnection(urllib3.connection.HTTPConnection):
    response_class = _BoundResponse

    def connect(self) -> None:
        deadline = _current()
        deadline.connecting = True
        super().connect()
        deadline.connecting = False
        deadline.connected = True

    def send(self, data: Any) -> None:
        """Send in pieces: TLS starts its timeout anew with each record."""
        if self.sock is None:
            self.connect()
        deadline = _current()
        for start in range(0, len(data), PIECE):
            self.sock.settimeout(deadline.cap(deadline.read_timeout))
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
            sock.settimeout(deadline.cap(deadline.connect_timeout))
            sock.connect(address)
            # Counts for the whole TLS handshake that may follow.
            sock.settimeout(deadline.cap(deadline.connect_timeout))
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


class DeadlineAdapter(requests.adapters.HTTPAdapter):
    """Carry requests over connections that keep the deadline of `under()`."""

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        """Wrap an answer; leave out its cookies and its guessed encoding, which nobody reads."""
        response = requests.Response()
        response.status_code = resp.status
        response.headers = CaseInsensitiveDict(resp.headers)
        response.raw, response.reason = resp, resp.reason
        response.url, response.request = req.url or "", req
        return response

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        """Make the pools, of our connection classes."""
        super().init_poolmanager(*arguments, **named)
        self.poolmanager.pool_classes_by_scheme = {
            "http": _BoundHTTPPool,
            "https": _BoundHTTPSPool,
        }


class BearerKey(requests.auth.AuthBase):
    """Add the key to a request (docs/service.md: Authentication), and to nothing else."""

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
        """Give the key, read anew; raise `UnusableKey` without quoting it (docs/cases.md C19)."""
        return read_key(self._source)


class _Session(requests.Session):
    """Follow nothing, remember nothing, read nothing from the environment."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("https://", "http://"):
            self.mount(scheme, DeadlineAdapter(pool_connections=4, pool_maxsize=1))

    def send(self, request: requests.PreparedRequest, **named: Any) -> requests.Response:
        """Send by the adapter, and do nothing that a session does around that.

        Cookies, hooks and redirects are what we do not want, and take a tenth of a call's time.
        """
        named.pop("allow_redirects", None)
        return self.get_adapter(request.url or "").send(request, **named)


_threads = threading.local()


def thread_session() -> _Session:
    """Give this thread's session, a new one in a forked child."""
    pid, session = getattr(_threads, "session", (None, None))
    if session is None or pid != os.getpid():
        session = _Session()
        _threads.session = (os.getpid(), session)
    return session
