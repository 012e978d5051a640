"""Nobody is told the key (case C19)."""

import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from payments_pages.client.responses import Response
from payments_pages.client.transport import Transport
from payments_pages.exceptions import (
    ConfigurationError,
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
    failure_of,
    get,
    say_nothing,
    to,
)


def test_the_key_is_stripped_and_sent_once_as_a_bearer(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    get(to(server, secret_key=f" {KEY}\n"))
    assert server.requests[0].count(f"Authorization: Bearer {KEY}\r\n".encode()) == 1


def test_a_callable_key_is_asked_each_time(serve: Callable[..., RawServer]) -> None:
    server = serve(answer(OK))
    keys = iter(["sk_test_first", "sk_test_second"])
    transport = to(server, secret_key=lambda: next(keys))
    get(transport)
    get(transport)
    assert b"sk_test_first" in server.requests[0]
    assert b"sk_test_second" in server.requests[1]


@pytest.mark.parametrize(
    "key",
    ["", "  \n", "sk_LEAKME\nX-Evil: 1", "sk_LEAKME\x7f", "sk_LEAKME\u05d0", "sk LEAKME", None],
)
def test_case_c19_a_key_that_no_header_can_carry_is_refused_unquoted(key: Any) -> None:
    for source in (key, lambda: key):
        with pytest.raises(ConfigurationError) as caught:
            get(Transport(secret_key=source, base_url="http://127.0.0.1:1/api"))
        told = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        ours = [frame.locals for frame in told.stack if "payments_pages/" in frame.filename]
        assert len(ours) >= 3
        assert "LEAKME" not in repr([ours, caught.value.args])


@pytest.mark.parametrize(
    "script", [say_nothing, drop, cut_in_body, answer(b"SSH-2.0\r\n\r\n"), answer(OK)]
)
def test_case_c19_the_key_shows_nowhere(
    script: Any, serve: Callable[..., RawServer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    transport = to(serve(script), secret_key=f"{KEY}\n", limits=Limits(read_timeout=0.1))
    error = failure_of(transport)
    if error is not None:
        assert error.__context__ is None
        assert error.__cause__ is None
        frames = traceback.TracebackException.from_exception(error, capture_locals=True)
        assert "LEAKME" not in "".join(frames.format())
        assert "LEAKME" not in repr(error.args)
        assert transport.base_url not in str(error)
    assert "LEAKME" not in caplog.text
    assert "LEAKME" not in repr(transport)
    assert "LEAKME" not in repr(vars(transport))


def test_one_record_tells_of_each_attempt_and_not_of_its_reference(
    serve: Callable[..., RawServer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "payments_pages.transport")
    get(to(serve(answer(OK))))
    with pytest.raises(ServiceUnavailable):
        get(to(serve(drop)))
    ours = [record for record in caplog.records if record.name == "payments_pages.transport"]
    assert [record.levelname for record in ours] == ["DEBUG", "INFO", "INFO"]
    start = "service.called: GET /transaction/verify/{}: "
    assert ours[0].getMessage().startswith(f"{start}200, Response, ")
    for record in ours[1:]:
        assert record.getMessage().startswith(f"{start}no status, ServiceUnavailable, ")
    fields = ("method", "path", "status", "outcome", "attempt")
    assert [[getattr(record, field) for field in fields] for record in ours] == [
        ["GET", "/transaction/verify/{}", 200, "Response", 1],
        ["GET", "/transaction/verify/{}", None, "ServiceUnavailable", 1],
        ["GET", "/transaction/verify/{}", None, "ServiceUnavailable", 2],
    ]
    assert all(isinstance(record.milliseconds, int) for record in ours)  # type: ignore[attr-defined]


def test_an_answer_does_not_show_its_body() -> None:
    assert "payer" not in repr(Response(200, body=b"payer@example.test"))
