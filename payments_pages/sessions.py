"""Give each thread its own connections, and each request the key."""

import os
import threading
from collections.abc import Callable
from http.cookiejar import DefaultCookiePolicy

import requests
import requests.auth

from payments_pages.exceptions import ConfigurationError
from payments_pages.sockets import DeadlineAdapter

__all__ = ["BearerKey", "thread_session"]


class BearerKey(requests.auth.AuthBase):
    """Add the key to a request (interface: Authentication), and to nothing else."""

    __slots__ = ("_source",)

    def __init__(self, source: str | Callable[[], str]) -> None:
        self._source = source

    def __repr__(self) -> str:
        return "<the secret key>"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Set the header; requests calls this when it prepares a request."""
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


def thread_session() -> _Session:
    """Give this thread's session, a new one in a forked child."""
    pid, session = getattr(_threads, "session", (None, None))
    if session is None or pid != os.getpid():
        session = _Session()
        _threads.session = (os.getpid(), session)
    return session
