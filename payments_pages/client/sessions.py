"""Give each thread its own connections, and each request the key."""

import os
import threading
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
import requests.auth

from payments_pages.client.connections import DeadlineAdapter
from payments_pages.credentials import SecretKey, read_key

__all__ = ["BearerKey", "thread_session"]


class BearerKey(requests.auth.AuthBase):
    """Add the key to a request (interface: Authentication), and to nothing else."""

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
        """Give the key, read anew; raise `UnusableKey` without quoting it (case C19)."""
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
