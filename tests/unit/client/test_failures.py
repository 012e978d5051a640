"""Every exception of requests, urllib3 and http.client has one class of ours."""

import http.client
import inspect
import socket
import ssl
import zlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import requests.exceptions
import urllib3.exceptions

from payments_pages.client import transport as transport_module
from payments_pages.client.failures import FOREIGN, failure_from
from payments_pages.client.transport import Transport
from payments_pages.exceptions import InvalidResponse, ServiceError, ServiceUnavailable
from tests.unit.client.raw_server import KEY, get


def raised_by(module: ModuleType) -> Iterator[type[BaseException]]:
    """The exceptions a library's module names; warnings are for people, nothing raises them."""
    for kind in vars(module).values():
        if inspect.isclass(kind) and issubclass(kind, Exception) and not issubclass(kind, Warning):
            yield kind


LIBRARIES = (requests.exceptions, urllib3.exceptions, http.client)
ALL = sorted(
    {kind for module in LIBRARIES for kind in raised_by(module)}
    | {TimeoutError, ConnectionError, socket.gaierror, ssl.SSLError, ssl.SSLCertVerificationError}
    | {zlib.error, UnicodeError, ValueError, OSError, BrokenPipeError},
    key=lambda kind: (kind.__module__, kind.__name__),
)

UNREACHABLE, BROKEN, LATE, TLS, GARBLED, UNSENDABLE = (
    (ServiceUnavailable, "could not be reached"),
    (ServiceUnavailable, "broke"),
    (ServiceUnavailable, "in time"),
    (ServiceUnavailable, "TLS"),
    (InvalidResponse, "not HTTP"),
    (ServiceError, "could not be sent"),
)
MEANING: dict[str, tuple[type[ServiceError], str]] = {
    "requests.exceptions.ChunkedEncodingError": BROKEN,
    "requests.exceptions.ConnectTimeout": LATE,
    "requests.exceptions.ContentDecodingError": GARBLED,
    "requests.exceptions.InvalidHeader": GARBLED,
    "requests.exceptions.InvalidJSONError": GARBLED,
    "requests.exceptions.InvalidProxyURL": UNSENDABLE,
    "requests.exceptions.InvalidSchema": UNSENDABLE,
    "requests.exceptions.InvalidURL": UNSENDABLE,
    "requests.exceptions.JSONDecodeError": GARBLED,
    "requests.exceptions.MissingSchema": UNSENDABLE,
    "requests.exceptions.ReadTimeout": LATE,
    "requests.exceptions.SSLError": TLS,
    "requests.exceptions.Timeout": LATE,
    "requests.exceptions.TooManyRedirects": GARBLED,
    "requests.exceptions.URLRequired": UNSENDABLE,
    "urllib3.exceptions.BodyNotHttplibCompatible": GARBLED,
    "urllib3.exceptions.ConnectTimeoutError": LATE,
    "urllib3.exceptions.DecodeError": GARBLED,
    "urllib3.exceptions.IncompleteRead": BROKEN,
    "urllib3.exceptions.InvalidChunkLength": GARBLED,
    "urllib3.exceptions.InvalidHeader": GARBLED,
    "urllib3.exceptions.LocationParseError": UNSENDABLE,
    "urllib3.exceptions.LocationValueError": UNSENDABLE,
    "urllib3.exceptions.ProxySchemeUnknown": UNSENDABLE,
    "urllib3.exceptions.ProxySchemeUnsupported": UNSENDABLE,
    "urllib3.exceptions.ReadTimeoutError": LATE,
    "urllib3.exceptions.ResponseError": GARBLED,
    "urllib3.exceptions.ResponseNotChunked": GARBLED,
    "urllib3.exceptions.SSLError": TLS,
    "urllib3.exceptions.TimeoutError": LATE,
    "urllib3.exceptions.URLSchemeUnknown": UNSENDABLE,
    # A connection that never came about is no broken one, although urllib3 derives it so.
    "urllib3.exceptions.NameResolutionError": UNREACHABLE,
    "urllib3.exceptions.NewConnectionError": UNREACHABLE,
    "http.client.BadStatusLine": GARBLED,
    "http.client.CannotSendHeader": GARBLED,
    "http.client.CannotSendRequest": GARBLED,
    "http.client.HTTPException": GARBLED,
    "http.client.ImproperConnectionState": GARBLED,
    "http.client.IncompleteRead": BROKEN,
    "http.client.InvalidURL": GARBLED,
    "http.client.LineTooLong": GARBLED,
    "http.client.NotConnected": GARBLED,
    "http.client.RemoteDisconnected": BROKEN,
    "http.client.ResponseNotReady": GARBLED,
    "http.client.UnimplementedFileMode": GARBLED,
    "http.client.UnknownProtocol": GARBLED,
    "http.client.UnknownTransferEncoding": GARBLED,
    "email.errors.MessageDefect": UNREACHABLE,
    "builtins.BrokenPipeError": BROKEN,
    "builtins.ConnectionError": BROKEN,
    "builtins.TimeoutError": LATE,
    "ssl.SSLCertVerificationError": TLS,
    "ssl.SSLError": TLS,
    "zlib.error": GARBLED,
}
"""What each means; what is not named could not be reached."""


def name_of(kind: type[BaseException]) -> str:
    return f"{kind.__module__}.{kind.__name__}"


@pytest.mark.parametrize("kind", ALL, ids=name_of)
def test_every_exception_of_the_wire_has_one_class_of_ours(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = kind.__new__(kind)
    assert isinstance(error, FOREIGN)
    expected, words = MEANING.get(name_of(kind), UNREACHABLE)

    class Session:
        def send(self, *_arguments: Any, **_named: Any) -> None:
            raise error

    monkeypatch.setattr(transport_module, "thread_session", Session)
    with pytest.raises(ServiceError, match=words) as caught:
        get(Transport(secret_key=KEY, base_url="https://service.test/api"))
    assert type(caught.value) is expected
    assert caught.value.retryable is (expected is not ServiceError)
    assert caught.value.__context__ is None


def test_the_table_names_only_what_there_is() -> None:
    assert set(MEANING) - {name_of(kind) for kind in ALL} == set()
    assert len(ALL) > 60


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (ConnectionResetError(), BROKEN),
        (TimeoutError(), LATE),
        (ssl.SSLError(), TLS),
        (http.client.BadStatusLine("x"), GARBLED),
    ],
)
def test_the_cause_decides_whatever_it_is_wrapped_in(
    inner: BaseException, expected: tuple[type[ServiceError], str]
) -> None:
    outer = requests.exceptions.ConnectionError("wrapped")
    outer.__cause__ = urllib3.exceptions.ProtocolError("wrapped")
    outer.__cause__.__context__ = inner
    found = failure_from(outer)
    assert type(found) is expected[0]
    assert expected[1] in str(found)
