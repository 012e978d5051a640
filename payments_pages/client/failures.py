"""What the exceptions of requests, urllib3 and http.client mean: one error of ours for each.

An exception of `requests` has the request, and with it the key: our error keeps nothing of it.
"""

import ssl
import zlib
from collections.abc import Iterator
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from typing import Final

import requests
import urllib3.exceptions
from requests import exceptions as requests_errors

from payments_pages.exceptions import InvalidResponse, ServiceError, ServiceUnavailable

__all__ = ["FOREIGN", "failure_from", "is_broken", "is_worth_repeating"]

FOREIGN: Final = (
    OSError,  # the root of every exception of requests
    urllib3.exceptions.HTTPError,
    HTTPException,
    ValueError,
    zlib.error,
)
"""All that a call through requests, urllib3 and http.client is known to raise."""

_TLS: Final = (requests_errors.SSLError, urllib3.exceptions.SSLError, ssl.SSLError)
_TIMEOUTS: Final = (TimeoutError, requests.Timeout, urllib3.exceptions.TimeoutError)
_UNCONNECTED: Final = (requests.ConnectTimeout, urllib3.exceptions.ConnectTimeoutError)
_CUT: Final = (
    RemoteDisconnected,
    IncompleteRead,
    ConnectionError,
    requests_errors.ChunkedEncodingError,
)
_GARBLED: Final = (
    HTTPException,
    urllib3.exceptions.InvalidHeader,
    urllib3.exceptions.DecodeError,
    urllib3.exceptions.InvalidChunkLength,
    urllib3.exceptions.ResponseNotChunked,
    urllib3.exceptions.BodyNotHttplibCompatible,
    urllib3.exceptions.ResponseError,
    requests_errors.ContentDecodingError,
    requests_errors.InvalidHeader,  # of the answer: a request's headers are checked before
    requests_errors.InvalidJSONError,
    requests_errors.TooManyRedirects,
    zlib.error,
)
_UNSENDABLE: Final = (
    requests_errors.URLRequired,
    requests_errors.MissingSchema,
    requests_errors.InvalidSchema,
    requests_errors.InvalidURL,
    urllib3.exceptions.LocationValueError,
    urllib3.exceptions.ProxySchemeUnsupported,
    urllib3.exceptions.ProxySchemeUnknown,
)


def failure_from(error: BaseException) -> ServiceError:
    """Return the `ServiceError` that a foreign exception means, by it and all its causes."""
    causes = tuple(_causes(error))

    def is_one(kinds: tuple[type[BaseException], ...]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    if is_one(_TLS):
        return ServiceUnavailable("The service's TLS handshake or certificate failed.")
    if _is_late(causes):
        return ServiceUnavailable("The service did not answer in time.")
    if is_one(_UNSENDABLE):
        # Not retryable: the same request could be sent no better later.
        return ServiceError("The request could not be sent as it is.")
    if is_broken(error):
        return ServiceUnavailable("The connection to the service broke.")
    if is_one(_GARBLED):
        return InvalidResponse("The answer is not HTTP.")
    return ServiceUnavailable("The service could not be reached.")


def is_broken(error: BaseException) -> bool:
    """Tell whether an open connection was cut: so ends one that was kept alive for too long."""
    causes = tuple(_causes(error))
    garbled = any(isinstance(cause, urllib3.exceptions.InvalidChunkLength) for cause in causes)
    return not garbled and any(isinstance(cause, _CUT) for cause in causes)


def is_worth_repeating(error: BaseException) -> bool:
    """Tell whether a call that failed with this error may work a moment later (our decision).

    - Yes: refused, reset or cut off; and no connection in time, because the service has not seen
      the call and another connection may lead to another node.
    - No: silence on an open connection, because the service may still be working on the first
      call; a certificate; a request that cannot be sent; a response that is not HTTP.
    """
    causes = tuple(_causes(error))
    slow = _is_late(causes) and not any(isinstance(cause, _UNCONNECTED) for cause in causes)
    if slow or any(isinstance(cause, _TLS) for cause in causes):
        return False
    return type(failure_from(error)) is ServiceUnavailable


def _is_late(causes: tuple[BaseException, ...]) -> bool:
    # urllib3 derives "no connection at all" from its timeout.
    none = urllib3.exceptions.NewConnectionError
    return any(isinstance(one, _TIMEOUTS) and not isinstance(one, none) for one in causes)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
