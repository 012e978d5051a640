"""A running sandbox, a session that has its key, and a merchant's site that takes webhooks."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests

from payments_pages.sandbox import Sandbox
from payments_pages.sandbox.http_server import HttpServer
from tests.unit.sandbox.payer import Payer

KEY = "sk_test_tests"


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(secret_key=KEY, webhook_delays=[0.01, 0.01]) as running:
        yield running


@pytest.fixture
def plain() -> Iterator[requests.Session]:
    """A session as a payer's browser has it: no key."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


@dataclass
class ApiSession:
    """Ask the API of a sandbox with its key."""

    session: requests.Session
    base_url: str

    def __call__(self, method: str, path: str, **options: Any) -> requests.Response:
        options.setdefault("timeout", 10)
        return self.session.request(method, self.base_url + path, allow_redirects=False, **options)

    def verify(self, reference: str, **options: Any) -> requests.Response:
        return self("GET", f"/transaction/verify/{reference}", **options)


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[ApiSession]:
    with requests.Session() as session:
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {KEY}"
        yield ApiSession(session, sandbox.base_url)


@dataclass
class Merchant:
    """A merchant's site: it keeps what it gets and answers the statuses it is told to."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    before_answer: Callable[[], object] = lambda: None
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        headers = {
            key[5:].replace("_", "-").lower(): value
            for key, value in environ.items()
            if key.startswith("HTTP_")
        }
        self.received.append((headers, environ["wsgi.input"].read()))
        self.before_answer()
        status = self.answers.pop(0) if self.answers else 200
        start_response(f"{status} Told", [("Location", f"{self.url}elsewhere/")])
        return [b""]


@pytest.fixture
def merchant() -> Iterator[Merchant]:
    site = Merchant()
    server = HttpServer("127.0.0.1", 0)
    server.application = site
    site.url = f"http://127.0.0.1:{server.port}/webhook/"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield site
    server.stop()
    thread.join()


@pytest.fixture
def payer(sandbox: Sandbox, plain: requests.Session) -> Payer:
    return Payer(sandbox, plain)
