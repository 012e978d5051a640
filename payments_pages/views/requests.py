"""A request's body, with a limit of its size, and the IP address of its client."""

from http import HTTPStatus
from typing import ClassVar

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from django.http.request import RawPostDataException, UnreadablePostError

from payments_pages.exceptions import InvalidEvent

__all__ = ["TooLarge", "client_ip", "read_body"]


class TooLarge(InvalidEvent):
    """A body that is longer than its limit; the status of the response is 413."""

    status: ClassVar[int] = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def read_body(request: HttpRequest, limit: int) -> bytes:
    """Return the raw body of a request.

    Raise `TooLarge` if the body is longer than `limit` bytes; it is not read if the request's
    Content-Length says so. Raise `InvalidEvent` if it cannot be read: the client closed the
    connection, or a middleware has already read a multipart body.
    """
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = 0
    if length > limit:
        raise TooLarge("The body is too large.")
    try:
        body = request.body
    except RequestDataTooBig as error:
        raise TooLarge("The body is too large.") from error
    except (RawPostDataException, UnreadablePostError) as error:
        raise InvalidEvent("The body cannot be read.") from error
    if len(body) > limit:
        raise TooLarge("The body is too large.")
    return body


def client_ip(request: HttpRequest) -> str:
    """Return `REMOTE_ADDR`, or "unknown" if it is blank; each client IP has its own budget.

    No forwarded header is read, because any client can send one. Behind a proxy, the merchant's
    own middleware must set `REMOTE_ADDR`; otherwise all payers share one budget.
    """
    return request.META.get("REMOTE_ADDR") or "unknown"
