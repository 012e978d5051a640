"""Take the reference that a popup or a mobile app hands over."""

import json
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import reverse

from payments_pages.choices import Door, Outcome
from payments_pages.conf import conf
from payments_pages.confirmation import Confirmation, confirm_payment
from payments_pages.exceptions import InvalidEvent, InvalidReference
from payments_pages.views.decorators import door, json_response
from payments_pages.views.requests import TooLarge, client_ip, read_body

__all__ = ["confirm"]

LIMIT = 4096

STATUSES = {
    Outcome.DELIVERED: HTTPStatus.OK,
    Outcome.ALREADY_DELIVERED: HTTPStatus.OK,
    Outcome.DELIVERING: HTTPStatus.ACCEPTED,
    Outcome.DELIVERY_FAILED: HTTPStatus.ACCEPTED,
    Outcome.PENDING: HTTPStatus.ACCEPTED,
    Outcome.HELD: HTTPStatus.ACCEPTED,
    Outcome.REJECTED: HTTPStatus.ACCEPTED,
    Outcome.NOT_PAID: HTTPStatus.PAYMENT_REQUIRED,
    Outcome.UNKNOWN: HTTPStatus.NOT_FOUND,
    Outcome.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


@door
def confirm(request: HttpRequest) -> HttpResponse:
    """Confirm `{"reference": "…"}`; answer outcome, reference and result address, nothing more.

    Of the body only the reference is read: a client's own "success" is worth nothing (docs/cases.md C10).
    JSON only, so that a form on a foreign site cannot post here without the browser asking.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if request.content_type != "application/json":
        return _refuse("Send application/json.", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    try:
        reference = _reference(read_body(request, LIMIT))
        found = confirm_payment(reference, door=Door.CONFIRM, client_ip=client_ip(request))
    except TooLarge as error:
        return _refuse(str(error), error.status)
    except (InvalidEvent, InvalidReference):
        return _refuse('Send {"reference": "…"} with a payment reference.', HTTPStatus.BAD_REQUEST)
    data: dict[str, object] = {
        "outcome": found.outcome,
        "reference": found.reference,
        "result_url": _result_url(request, found),
    }
    return json_response(data, status=STATUSES[found.outcome], retry_after=found.retry_after)


def _reference(body: bytes) -> str:
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidEvent("The body is not JSON.") from error
    reference = payload.get("reference") if isinstance(payload, dict) else None
    if not isinstance(reference, str):
        raise InvalidEvent("The body names no reference.")
    return reference


def _result_url(request: HttpRequest, found: Confirmation) -> str | None:
    """Return the address of the result page, absolute for apps; None without a transaction."""
    if found.transaction is None:
        return None
    path = reverse(conf.result_view, kwargs={"token": found.transaction.token})
    return f"{conf.site_url}{path}" if conf.site_url else request.build_absolute_uri(path)


def _refuse(detail: str, status: int) -> HttpResponse:
    return json_response({"outcome": "invalid", "detail": detail}, status=status)
