"""Visits: requests without the key, to addresses that anybody may open."""

import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from payments_pages.client import visit
from payments_pages.client.visits import SIZE_LIMIT
from payments_pages.exceptions import ServiceError
from payments_pages.limits import Limits
from tests.support.front import Front
from tests.unit.client.raw_server import (
    RawServer,
    answer,
    say_nothing,
    trickle_body,
    trickle_headers,
    trickle_status_line,
)

QUICK = Limits(connect_timeout=0.3, read_timeout=0.3, deadline=0.6)


def url_of(server: RawServer) -> str:
    return f"http://127.0.0.1:{server.port}/door/"


@pytest.mark.parametrize("status", [200, 204, 401, 404, 500])
def test_any_answer_is_returned(status: int) -> None:
    with Front(answers=(status, "")) as front:
        found = visit(f"{front.url}/door/")
    assert (found.status, found.location, found.url) == (status, "", f"{front.url}/door/")
    assert found.asked_at <= found.answered_at


def test_it_sends_what_it_is_told_and_no_key() -> None:
    with RawServer(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")) as server:
        found = visit(url_of(server), method="POST", body=b"{}", headers={"X-Signature": "abc"})
    assert found.body == b"ok"
    (request,) = server.requests
    assert request.startswith(b"POST /door/ HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\n{}")
    assert b"X-Signature: abc\r\n" in request
    assert b"uthorization" not in request


def test_the_environment_has_no_part_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with Front(answers=(200, "")) as front:
        assert visit(front.url).status == 200


def test_redirects_are_followed_only_when_asked_for() -> None:
    with Front(answers=(200, "here")) as behind, Front(redirects_to=behind.url) as front:
        stayed = visit(f"{front.url}/door/?reference=")
        went = visit(f"{front.url}/door/?reference=", follow=True)
    assert (stayed.status, stayed.location) == (301, f"{behind.url}/door/?reference=")
    assert (went.status, went.url) == (200, f"{behind.url}/door/?reference=")


def test_a_relative_redirect_is_told_in_full() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: ../there/\r\nContent-Length: 0\r\n\r\n"
    with RawServer(answer(moved)) as server:
        assert visit(url_of(server)).location == f"http://127.0.0.1:{server.port}/there/"


def test_a_circle_of_redirects_ends() -> None:
    front = Front()
    front.redirects_to = front.url
    with front:
        assert visit(front.url, follow=True).status == 301


def test_plain_http_on_another_machine_is_not_followed() -> None:
    with Front(redirects_to="http://shop.example.com") as front:
        found = visit(front.url, follow=True)
    assert (found.status, found.location) == (301, "http://shop.example.com/")


@pytest.mark.parametrize(
    "script", [say_nothing, trickle_status_line, trickle_headers, trickle_body]
)
def test_it_ends_with_its_deadline(script: Callable[..., None]) -> None:
    started = time.monotonic()
    with RawServer(script) as server, pytest.raises(ServiceError):
        visit(url_of(server), limits=QUICK)
    assert time.monotonic() - started < 5


def test_no_answer_is_an_error_that_has_nothing_of_the_request() -> None:
    with pytest.raises(ServiceError, match="could not be reached") as caught:
        visit("http://127.0.0.1:9/", headers={"X-Signature": "abc"})
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_certificate_that_nobody_vouches_for_is_told(
    certificate: tuple[Path, ssl.SSLContext], serve: Callable[..., RawServer]
) -> None:
    ok = answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    url = f"https://127.0.0.1:{serve(ok, certificate[1]).port}/"
    with pytest.raises(ServiceError, match="certificate failed"):
        visit(url)
    assert visit(url, ca_bundle=str(certificate[0])).body == b"ok"


def test_only_the_beginning_of_a_body_is_read() -> None:
    with Front(answers=(200, "x" * (2 * SIZE_LIMIT))) as front:
        assert len(visit(front.url).body) == SIZE_LIMIT
