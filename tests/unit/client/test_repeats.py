"""A GET is asked once more where that may help, a POST never; nobody is asked while it rests."""

import itertools
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from payments_pages.client import PATIENCE
from payments_pages.client import transport as transport_module
from payments_pages.client.resilience import FAILURES, Breaker, Gates
from payments_pages.client.transport import Transport
from payments_pages.exceptions import (
    InvalidResponse,
    NotAsked,
    ServiceError,
    ServiceUnavailable,
)
from payments_pages.limits import Limits
from tests.unit.client.raw_server import (
    KEY,
    OK,
    RawServer,
    answer,
    cut_in_body,
    drop,
    get,
    post,
    say_nothing,
    to,
)

Script = Callable[[RawServer, socket.socket], None]


def status(number: int, *headers: bytes) -> Script:
    head = b"HTTP/1.1 %d Whatever\r\nContent-Length: 2\r\n" % number
    return answer(head + b"".join(header + b"\r\n" for header in headers) + b"\r\n{}")


def one_after_the_other(*scripts: Script) -> Script:
    """The last one repeats."""
    order = itertools.chain(scripts, itertools.repeat(scripts[-1]))

    def script(server: RawServer, connection: socket.socket) -> None:
        next(order)(server, connection)

    return script


def put(transport: Transport) -> Any:
    return transport.exchange("PUT", transport.target("/page/{}", "18"), json_body={"name": "x"})


PASSING = [drop, cut_in_body, *(status(number) for number in (408, 425, 500, 502, 503, 504))]


@pytest.mark.parametrize("first", PASSING)
def test_a_get_is_asked_once_more(first: Script, serve: Callable[..., RawServer]) -> None:
    server = serve(one_after_the_other(first, answer(OK)))
    assert get(to(server)).status == 200
    assert len(server.requests) == 2


@pytest.mark.parametrize("script", PASSING)
def test_a_get_is_asked_no_more_than_twice(script: Script, serve: Callable[..., RawServer]) -> None:
    server = serve(script)
    with suppress(ServiceUnavailable):
        assert get(to(server)).status >= 400
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "first", [status(number) for number in (400, 401, 403, 404, 422, 429, 501, 302)]
)
def test_what_will_not_change_is_not_asked_again(
    first: Script, serve: Callable[..., RawServer]
) -> None:
    server = serve(one_after_the_other(first, answer(OK)))
    with suppress(InvalidResponse):
        assert get(to(server)).status >= 400
    assert len(server.requests) == 1


@pytest.mark.parametrize("seconds", [b"0", b"1", b"30", b"99999"])
def test_case_c27_retry_after_is_heeded_by_not_asking_and_never_slept(
    seconds: bytes, serve: Callable[..., RawServer]
) -> None:
    server = serve(one_after_the_other(status(503, b"Retry-After: " + seconds), answer(OK)))
    started = time.monotonic()
    assert get(to(server)).retry_after == seconds.decode()
    assert time.monotonic() - started < 1
    assert len(server.requests) == 1


def test_a_service_that_is_slow_is_not_asked_twice(serve: Callable[..., RawServer]) -> None:
    """Although most of the deadline is left: it may still be at work on the first call."""
    server = serve(one_after_the_other(say_nothing, answer(OK)))
    with pytest.raises(ServiceUnavailable):
        get(to(server, limits=Limits(read_timeout=0.1, deadline=20)))
    assert len(server.requests) == 1


@pytest.fixture
def led_to(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Lead each new connection to the next of these ports, as a balancer's nodes; those used."""

    def lead(*ports: int) -> list[int]:
        used: list[int] = []

        def resolve(*_arguments: Any, **_named: Any) -> list[Any]:
            used.append(ports[min(len(used), len(ports) - 1)])
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", used[-1]))]

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        return used

    return lead


def unconnected(*, deadline: float = 8) -> Transport:
    limits = Limits(connect_timeout=0.1, deadline=deadline)
    return Transport(secret_key=KEY, base_url="http://nodes.localhost/api", limits=limits)


def test_a_get_that_got_no_connection_in_time_tries_another(
    deaf_port: int, led_to: Callable[..., list[int]], serve: Callable[..., RawServer]
) -> None:
    server = serve(answer(OK))
    used = led_to(deaf_port, server.port)
    assert get(unconnected()).status == 200
    assert used == [deaf_port, server.port]


def test_a_get_that_gets_no_connection_tries_twice_and_within_the_deadline(
    deaf_port: int, led_to: Callable[..., list[int]]
) -> None:
    used = led_to(deaf_port)
    with pytest.raises(ServiceUnavailable, match="in time"):
        get(unconnected())
    assert len(used) == 2
    used.clear()
    with pytest.raises(ServiceUnavailable):
        get(unconnected(deadline=0.1))
    assert len(used) == 1, "no time was left"


def test_a_post_that_got_no_connection_is_not_sent_again(
    deaf_port: int, led_to: Callable[..., list[int]]
) -> None:
    used = led_to(deaf_port)
    with pytest.raises(ServiceUnavailable) as caught:
        post(unconnected())
    assert len(used) == 1
    assert caught.value.maybe_done is False


@pytest.mark.parametrize("method", [post, put])
@pytest.mark.parametrize("first", PASSING)
def test_a_write_that_may_be_done_is_sent_once(
    first: Script, method: Callable[[Transport], Any], serve: Callable[..., RawServer]
) -> None:
    server = serve(one_after_the_other(first, answer(OK)))
    with suppress(ServiceUnavailable):
        assert method(to(server)).status >= 400
    assert len(server.requests) == 1


@pytest.mark.parametrize(("method", "calls"), [(get, 2), (put, 2)])
def test_a_connection_kept_for_too_long_costs_no_pause(
    method: Callable[[Transport], Any],
    calls: int,
    serve: Callable[..., RawServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport_module, "PAUSES", (60, 60))
    server = serve(answer_once_then_drop())
    transport = to(server)
    get(transport)
    assert method(transport).status == 200
    assert server.connections == calls


def answer_once_then_drop() -> Script:
    """Answer each connection once, and drop it at its second request."""
    served: set[int] = set()

    def script(_server: RawServer, connection: socket.socket) -> None:
        if id(connection) in served:
            connection.close()
            return
        served.add(id(connection))
        connection.sendall(OK)

    return script


def test_a_post_on_a_stale_connection_may_be_done(serve: Callable[..., RawServer]) -> None:
    server = serve(answer_once_then_drop())
    transport = to(server)
    get(transport)
    with pytest.raises(ServiceUnavailable) as caught:
        post(transport)
    assert caught.value.maybe_done is True
    assert len(server.requests) == 2


def test_the_pause_is_drawn_anew_and_small() -> None:
    low, high = transport_module.PAUSES
    assert 0 < low < high <= 0.5


def test_no_time_left_means_no_second_call(serve: Callable[..., RawServer]) -> None:
    server = serve(drop)
    with pytest.raises(ServiceError):
        get(to(server, limits=Limits(deadline=0.04)))
    assert len(server.requests) <= 1


def test_the_second_call_ends_by_the_same_deadline(serve: Callable[..., RawServer]) -> None:
    server = serve(one_after_the_other(drop, say_nothing))
    started = time.monotonic()
    with pytest.raises(ServiceUnavailable):
        get(to(server, limits=Limits(deadline=0.6, read_timeout=10)))
    assert 0.5 < time.monotonic() - started < 2


# --- with the gates


def guarded(server: RawServer, gates: Gates, **more: Any) -> Transport:
    return to(server, gates=gates, **more)


def exhaust(server: RawServer, gates: Gates) -> None:
    """Ask until nobody is asked any more."""
    for _call in range(3 * FAILURES):
        try:
            get(guarded(server, gates))
        except NotAsked:
            return
    raise AssertionError("the breaker did not open")


def test_a_failing_service_is_left_alone(serve: Callable[..., RawServer]) -> None:
    server, gates = serve(drop), Gates()
    for _call in range(20):
        with pytest.raises(ServiceUnavailable):
            get(guarded(server, gates))
    assert len(server.requests) == FAILURES
    with pytest.raises(NotAsked) as caught:
        get(guarded(server, gates))
    assert caught.value.retry_after in range(1, 11)


def test_a_service_that_is_back_is_found_by_one_probe(serve: Callable[..., RawServer]) -> None:
    now = [0.0]
    gates = Gates(breaker=lambda: Breaker(clock=lambda: now[0]))
    server = serve(status(500))
    exhaust(server, gates)
    server.script = answer(OK)
    asked = len(server.requests)
    with pytest.raises(NotAsked):
        get(guarded(server, gates))
    now[0] = 11
    for _call in range(3):
        assert get(guarded(server, gates)).status == 200
    assert len(server.requests) == asked + 3


@pytest.mark.parametrize("number", [200, 400, 401, 403, 404, 422])
def test_refusals_do_not_open_the_breaker(number: int, serve: Callable[..., RawServer]) -> None:
    server, gates = serve(status(number)), Gates()
    for _call in range(3 * FAILURES):
        assert get(guarded(server, gates)).status == number
    assert len(server.requests) == 3 * FAILURES


@pytest.mark.parametrize("number", [408, 425, 429, 500, 503])
def test_unwell_answers_open_the_breaker(number: int, serve: Callable[..., RawServer]) -> None:
    server, gates = serve(status(number)), Gates()
    exhaust(server, gates)
    assert len(server.requests) == FAILURES


def test_a_rotated_key_starts_with_a_closed_breaker(serve: Callable[..., RawServer]) -> None:
    server, gates = serve(status(500)), Gates()
    exhaust(server, gates)
    server.script = answer(OK)
    assert get(guarded(server, gates, secret_key="sk_test_rotated")).status == 200


def test_one_who_finds_the_house_full_is_told_in_a_moment(serve: Callable[..., RawServer]) -> None:
    server, gates = serve(answer(OK)), Gates()
    started = time.monotonic()
    with gates.opened("elsewhere", b"", max_calls=1), pytest.raises(NotAsked) as caught:
        post(guarded(server, gates, limits=Limits(max_calls=1)))
    assert time.monotonic() - started < PATIENCE + 0.5
    assert server.requests == []
    assert caught.value.maybe_done is False
