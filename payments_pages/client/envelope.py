"""The envelope around the service's JSON, and the error that any other response means.

The outcome of a call is the top-level `status`, which must be exactly `true` (docs/service.md: Response
envelope). The interface does not show refusals. For them the HTTP status counts, and an envelope
of status `false` proves that the service itself answered, not a proxy.
"""

import datetime as dt
import json
from collections.abc import Callable, Collection
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import Any, Final

from payments_pages.client.responses import Response
from payments_pages.exceptions import (
    AuthenticationFailed,
    InvalidResponse,
    NotFound,
    RateLimited,
    RequestRefused,
    ServiceError,
    ServiceUnavailable,
)

__all__ = ["MAX_RETRY_AFTER", "open_envelope", "parse_json", "retry_after_seconds"]

MAX_RETRY_AFTER: Final = 3600
MAX_DIGITS: Final = 30
MESSAGE_LIMIT: Final = 300


def parse_json(body: bytes) -> Any:
    """Parse strict UTF-8 JSON; raise `InvalidResponse`, which holds nothing of the body.

    Fractions become Decimal. NaN, Infinity, numbers of more than `MAX_DIGITS` digits and
    exponents beyond Decimal stay text, so that an amount like that is unreadable, not wrong
    (docs/cases.md C41).
    """
    try:
        return json.loads(
            body.decode("utf-8"), parse_float=_decimal, parse_int=_integer, parse_constant=str
        )
    except (ValueError, RecursionError):
        # The parser's own error quotes the body; ours, raised below, does not carry it.
        pass
    raise InvalidResponse("The service's answer is not JSON.")


def open_envelope(
    response: Response,
    *,
    unknown_statuses: Collection[int] = (),
    clean: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Return the envelope of a call that succeeded, or raise the `ServiceError` that fits.

    `unknown_statuses` are the HTTP statuses that, with an envelope of status false, mean
    "unknown now" (`NotFound`). `clean` removes secrets from the service's message.

    A 2xx whose status is exactly false is `RequestRefused`: the service says so itself. Any
    other 2xx without status true is `InvalidResponse`.
    """
    envelope = _object(response.body)
    if envelope is not None and 200 <= response.status < 300 and envelope.get("status") is True:
        return envelope
    raise _failure(response, envelope, unknown_statuses, clean)


def retry_after_seconds(header: str) -> int | None:
    """Read Retry-After, seconds or an HTTP date, as 0 to `MAX_RETRY_AFTER` seconds."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(int(text[:9]), MAX_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        seconds = (moment - dt.datetime.now(dt.UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0, min(int(seconds), MAX_RETRY_AFTER))


def _failure(
    response: Response,
    envelope: dict[str, Any] | None,
    unknown_statuses: Collection[int],
    clean: Callable[[str], str],
) -> ServiceError:
    status = response.status
    wait = retry_after_seconds(response.retry_after)
    message = None if envelope is None else envelope.get("message")
    refused = envelope is not None and envelope.get("status") is False
    # Known fact, not promised: some answers to a wrong key are a 400 with just these words.
    if status in (401, 403) or (refused and status <= 400 and message == "Invalid key"):
        return AuthenticationFailed("The service refuses the secret key.", status=status)
    if status == 429:
        return RateLimited("The service asks for fewer calls.", status=status, retry_after=wait)
    if status >= 500 or status in (408, 425):
        return ServiceUnavailable(f"The service answers {status}.", status=status, retry_after=wait)
    # A proxy's own 400 or 404 says nothing about the payment, and is asked again (docs/cases.md C25).
    if not refused:
        return InvalidResponse(
            f"The answer ({status}) is not one of the service's envelopes.", status=status
        )
    if status in unknown_statuses:
        return NotFound("The service does not know it now.", status=status)
    words = clean(message)[:MESSAGE_LIMIT] if isinstance(message, str) else ""
    return RequestRefused(f"The service refuses the request: {words or status}", status=status)


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        document = parse_json(body)
    except InvalidResponse:
        return None
    return document if isinstance(document, dict) else None


def _decimal(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= MAX_DIGITS else text
