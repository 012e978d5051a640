"""Read a request's body within bounds."""

from http import HTTPStatus
from typing import ClassVar

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from django.http.request import RawPostDataException, UnreadablePostError

from payments_pages.exceptions import InvalidEvent

__all__ = ["TooLarge", "client_ip", "read_body"]


class TooLarge(InvalidEvent):
    """Refuse a body that is longer than it may be."""

    status: ClassVar[int] = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def read_body(request: HttpRequest, limit: int) -> bytes:
    """Return the raw bytes as they came; raise `TooLarge` before reading more than `limit`.

    Raise `InvalidEvent` when they cannot be read: the sender went away, or a middleware before
    us has consumed a multipart body.
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
    """Return where a request comes from, for the budgets: `REMOTE_ADDR`, never blank.

    No forwarded header is read: anybody can write one. Behind a proxy the merchant's own
    middleware sets `REMOTE_ADDR`; until it does, all payers share one budget.
    """
    return request.META.get("REMOTE_ADDR") or "unknown"
