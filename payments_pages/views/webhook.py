"""The view of the service's webhooks: check the signature, then confirm the reference."""

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

__all__ = ["confirm_event", "webhook"]

logger = logging.getLogger("payments_pages.webhook")


LIMIT = 256 * 1024
"""The most bytes of a body."""


NO_SIGNATURE = "no signature"


RETRY_OUTCOMES = frozenset({Outcome.UNAVAILABLE, Outcome.DELIVERY_FAILED})
"""Outcomes after which the service should send the event again.

All other outcomes are recorded, and the sweep continues with them.
"""


@door
def webhook(request: HttpRequest) -> HttpResponse:
    """Confirm the reference of a signed event; the status says whether to send it again.

    - 200: the event is done or recorded.
    - 503: the service should send the event again. One reason is a signed success which the
      service does not confirm yet: its verify may show a payment later than its webhook. Another
      is that the secrets cannot be read.
    - 401: the signature is missing or wrong, or no header, algorithm or secret is set. Only that
      it is missing is told.
    - 400: the body is not an event, or names no usable reference.
    - 413: the body is too large.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        body = read_body(request, LIMIT)
        if why := _refusal(request, body):
            # Who sent no signature knows it. By this a site's doctor sees that the header is lost.
            told = {"detail": why} if why == NO_SIGNATURE else {}
            data: dict[str, object] = {"outcome": "unsigned", **told}
            return json_response(data, status=HTTPStatus.UNAUTHORIZED)
        return _respond(confirm_event(body))
    except UnusableKey as error:
        logger.critical("webhook.no_secrets: %s", error, extra={"why": str(error)})
        data = {"outcome": Outcome.UNAVAILABLE}
        return json_response(data, status=HTTPStatus.SERVICE_UNAVAILABLE, retry_after=COME_BACK)
    except InvalidEvent as error:
        logger.warning("webhook.invalid: %s", error, extra={"why": str(error)})
        return json_response({"outcome": "invalid", "detail": str(error)}, status=error.status)


def _respond(confirmation: Confirmation | None) -> HttpResponse:
    if confirmation is None:
        return json_response({"outcome": "ignored"})
    if confirmation.outcome in RETRY_OUTCOMES or confirmation.contradicted:
        status = HTTPStatus.SERVICE_UNAVAILABLE
        return json_response(
            {"outcome": confirmation.outcome}, status=status, retry_after=confirmation.retry_after
        )
    return json_response({"outcome": confirmation.outcome})


def _refusal(request: HttpRequest, body: bytes) -> str:
    """Return "" if the signature matches the bytes of the body; else log and return the reason."""
    if not conf.webhook_header or conf.webhook_algorithm not in ALGORITHMS:
        return _closed("set WEBHOOK_HEADER and WEBHOOK_ALGORITHM to open it")
    secrets = conf.webhook_secrets
    if not secrets:
        return _closed("WEBHOOK_SECRETS is empty")
    signature = request.headers.get(conf.webhook_header, "")
    if is_signed(body, signature, secrets, conf.webhook_algorithm):
        return ""
    why = "wrong signature" if signature else NO_SIGNATURE
    logger.warning("webhook.refused: %s", why, extra={"why": why})
    return why


def _closed(why: str) -> str:
    logger.error("webhook.closed: %s", why, extra={"why": why})
    return why


def confirm_event(body: bytes) -> Confirmation | None:
    """Confirm the reference that a webhook's body names; return None if the event is ignored.

    - `charge.success`: `data.reference` is confirmed.
    - another `charge.…` event: the service is asked again about `data.reference`, even if the
      payment is settled. Without a reference the event is ignored.
    - `refund.…`: the service is asked again about `data.transaction_reference`.
    - any other event: the service is asked again about a reference that this site knows already.
      Otherwise the event is ignored: it is a transfer, or belongs to another site on the same
      account (docs/cases.md C34).

    Raise `InvalidEvent` if the body is not an event, if its reference is not usable, or if a
    `charge.success` or `refund.…` event names none.
    """
    event, data = _read(body)
    if event.startswith("charge."):
        reference = next(_references(data, "reference"), None)
        if reference is None and event != "charge.success":
            return None
        success = event == "charge.success"
        return _confirm(reference, event, refresh=not success, signed_success=success)
    if event.startswith("refund."):
        reference = next(_references(data, "transaction_reference", "reference"), None)
        return _confirm(reference, event, refresh=True)
    for reference in _references(data, "transaction_reference", "reference"):
        if is_known(reference):
            return _confirm(reference, event, refresh=True)
    return None


def _confirm(
    reference: str | None, event: str, *, refresh: bool, signed_success: bool = False
) -> Confirmation:
    if reference is None:
        raise InvalidEvent("The event names no reference.")
    try:
        return confirm_payment(
            reference,
            door=Door.WEBHOOK,
            refresh=refresh,
            vouched=True,
            signed_success=signed_success,
            event=event,
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
    """Yield the texts that may be a transaction's reference; a dispute has it in `transaction`."""
    nested = data.get("transaction")
    values = [data.get(name) for name in names]
    if isinstance(nested, dict):
        values.append(nested.get("reference"))
    yield from (value for value in values if isinstance(value, str) and value)
