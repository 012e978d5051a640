"""No value aims a call elsewhere, and no key travels in the open (case C11)."""

from collections.abc import Callable

import pytest

from payments_pages.client.transport import Transport
from payments_pages.exceptions import (
    ConfigurationError,
    InvalidReference,
)
from tests.unit.client.raw_server import KEY, OK, RawServer, answer, get, to


@pytest.mark.parametrize(
    ("value", "segment"),
    [
        ("a=b.c-d", "a%3Db.c-d"),
        ("../../page/18", "..%2F..%2Fpage%2F18"),
        ("%2e%2e%2fpage%2f18", "%252e%252e%252fpage%252f18"),
        ("%2e%2e", "%252e%252e"),
        ("a/b", "a%2Fb"),
        ("a?b=1", "a%3Fb%3D1"),
        ("a#b", "a%23b"),
        ("a%2Fb", "a%252Fb"),
        ("a;b", "a%3Bb"),
        ("a b", "a%20b"),
        ("a+b", "a%2Bb"),
        ("a\r\nX-Evil: 1", "a%0D%0AX-Evil%3A%201"),
        ("{}", "%7B%7D"),
        ("...", "..."),
        ("~a", "~a"),
        ("شاي", "%D8%B4%D8%A7%D9%8A"),
    ],
)
def test_case_c11_a_value_arrives_as_exactly_one_segment(
    value: str, segment: str, serve: Callable[..., RawServer]
) -> None:
    server = serve(answer(OK))
    get(to(server), value)
    line = server.requests[0].split(b"\r\n")[0].decode()
    assert line == f"GET /api/transaction/verify/{segment} HTTP/1.1"


@pytest.mark.parametrize("value", ["", ".", "..", "\ud800"])
def test_case_c11_what_cannot_be_quoted_is_refused_before_any_call(
    value: str, serve: Callable[..., RawServer]
) -> None:
    server = serve(answer(OK))
    with pytest.raises(InvalidReference):
        get(to(server), value)
    assert server.requests == []


def test_a_query_arrives_encoded(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    transport = to(server)
    transport.exchange(
        "GET", transport.target("/page", query={"from": "2024-03-05T12:00:00+02:00"})
    )
    assert server.requests[0].startswith(b"GET /api/page?from=2024-03-05T12%3A00%3A00%2B02%3A00 ")


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "service.test/api",
        "ftp://service.test",
        "https://",
        "http://service.test/api",
        "http://10.0.0.1/api",
        "http://localhost.evil.test/api",
        "https://user:password@service.test/api",
        "https://service.test/api?x=1",
        "https://service.test/api#x",
        "https://service.test/a/../b",
        "https://service.test//api",
        "https://service.test:port/api",
        "https://service.test:99999/api",
        "https://[::1/api",
        "https://سوق.test/api",
        "https://service.test/ api",
        "https://service.test/\napi",
    ],
)
def test_a_base_url_that_cannot_serve_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigurationError):
        Transport(secret_key=KEY, base_url=base_url)


@pytest.mark.parametrize(
    "base_url",
    [
        "https://service.test",
        "https://service.test/api/",
        "https://service.test:8443/v1/api",
        "http://localhost:8001/api",
        "http://127.0.0.2/api",
        "http://[::1]:8001/api",
        "http://sandbox.localhost/api",
    ],
)
def test_https_or_loopback_can_serve(base_url: str) -> None:
    assert Transport(secret_key=KEY, base_url=base_url).base_url == base_url.rstrip("/")
