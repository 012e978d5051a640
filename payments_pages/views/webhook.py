"""Take the service's webhooks: check the signature, read the reference, ask the service."""

import json
import logging
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from payments_pages.choices import Door, Outcome
from payments_pages.conf import conf
from payments_pages.confirmation import COME_BACK, Confirmation, confirm_payment, is_known
from payments_pages.exceptions import InvalidEvent, InvalidReference, UnusableKey
from payments_pages.signatures import ALGORITHMS, is_signed
from payments_pages.views.decorators import door, json_response
from payments_pages.views.requests import read_body

__all__ = ["take_event", "webhook"]

logger = logging.getLogger("payments_pages.webhook")


LIMIT = 256 * 1024


SENT_AGAIN = frozenset({Outcome.UNAVAILABLE, Outcome.DELIVERY_FAILED})
"""Outcomes that a second sending may better; all others are on record and go on by themselves."""


@door
def webhook(request: HttpRequest) -> HttpResponse:
    """Answer 200 for what is done or on record, 503 for what should be sent again.

    That includes a signed success which the service does not confirm yet: verify may be later
    than its own message.

    401 without a good signature, and for every request until header and algorithm are set:
    closed by default. 503 when they cannot be read, for the next sending may find them. 400 for
    what is no event, 413 for what is too large.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        body = read_body(request, LIMIT)
        if not _is_ours(request, body):
            return json_response({"outcome": "unsigned"}, status=HTTPStatus.UNAUTHORIZED)
        return _taken(take_event(body))
    except UnusableKey as error:
        logger.critical("webhook.no_secrets: %s", error, extra={"why": str(error)})
        data: dict[str, object] = {"outcome": Outcome.UNAVAILABLE}
        return json_response(data, status=HTTPStatus.SERVICE_UNAVAILABLE, retry_after=COME_BACK)
    except InvalidEvent as error:
        logger.warning("webhook.invalid: %s", error, extra={"why": str(error)})
        return json_response({"outcome": "invalid", "detail": str(error)}, status=error.status)


def _taken(found: Confirmation | None) -> HttpResponse:
    if found is None:
        return json_response({"outcome": "ignored"})
    if found.outcome in SENT_AGAIN or found.contradicted:
        status = HTTPStatus.SERVICE_UNAVAILABLE
        return json_response(
            {"outcome": found.outcome}, status=status, retry_after=found.retry_after
        )
    return json_response({"outcome": found.outcome})


def _is_ours(request: HttpRequest, body: bytes) -> bool:
    """Check the signature over the bytes that arrived; say in the log why one is refused."""
    if not conf.webhook_header or conf.webhook_algorithm not in ALGORITHMS:
        _say_closed("set WEBHOOK_HEADER and WEBHOOK_ALGORITHM to open it")
        return False
    secrets = conf.webhook_secrets
    if not secrets:
        _say_closed("WEBHOOK_SECRETS is empty")
        return False
    signature = request.headers.get(conf.webhook_header, "")
    if is_signed(body, signature, secrets, conf.webhook_algorithm):
        return True
    why = "wrong signature" if signature else "no signature"
    logger.warning("webhook.refused: %s", why, extra={"why": why})
    return False


def _say_closed(why: str) -> None:
    logger.error("webhook.closed: %s", why, extra={"why": why})


def take_event(body: bytes) -> Confirmation | None:
    """Confirm the reference that a webhook's body names; None for an event that is not ours.

    `charge.success` names `data.reference`, a `refund.…` event `data.transaction_reference`;
    the refund asks again about what is settled. Another `charge.…` event asks again about the
    reference it names, if it names one. Of every other event a reference is taken only if this
    site knows it already: transfers and events of other sites on the same account are none of
    our business (docs/cases.md C34).

    Raise `InvalidEvent` for what is not an event, or names no usable reference where it must.
    """
    event, data = _read(body)
    if event.startswith("charge."):
        reference = next(_references(data, "reference"), None)
        if reference is None and event != "charge.success":
            return None
        success = event == "charge.success"
        return _confirm(reference, refresh=not success, signed_success=success)
    if event.startswith("refund."):
        reference = next(_references(data, "transaction_reference", "reference"), None)
        return _confirm(reference, refresh=True)
    for reference in _references(data, "transaction_reference", "reference"):
        if is_known(reference):
            return _confirm(reference, refresh=True)
    return None


def _confirm(reference: str | None, *, refresh: bool, signed_success: bool = False) -> Confirmation:
    if reference is None:
        raise InvalidEvent("The event names no reference.")
    try:
        return confirm_payment(
            reference,
            door=Door.WEBHOOK,
            refresh=refresh,
            vouched=True,
            signed_success=signed_success,
        )
    except InvalidReference as error:
        raise InvalidEvent("The event names no usable reference.") from error


def _read(body: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidEvent("The body is not JSON.") from error
    event = payload.get("event") if isinstance(payload, dict) else None
    if not isinstance(event, str):
        raise InvalidEvent("The body is not an event.")
    data = payload.get("data")
    return event, data if isinstance(data, dict) else {}


def _references(data: Mapping[str, Any], *names: str) -> Iterator[str]:
    """Yield what may be a transaction's reference; disputes nest it in `transaction`."""
    nested = data.get("transaction")
    places = [data.get(name) for name in names]
    if isinstance(nested, dict):
        places.append(nested.get("reference"))
    yield from (place for place in places if isinstance(place, str) and place)
