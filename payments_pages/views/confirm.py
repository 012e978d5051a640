"""The view to which a popup or a mobile app sends the reference of a payment."""

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
"""The most bytes of a body."""

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
    """Confirm `{"reference": "…"}`; return `{outcome, reference, result_url}`.

    That a client says "success" proves nothing (docs/cases.md C10). `"paid": true` beside the
    reference only lets staff see it if the service does not know the reference.

    Only JSON is accepted. A form on another site cannot send that, and a script on another site
    only after the browser has asked us (CORS).
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if request.content_type != "application/json":
        return _invalid("Send application/json.", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    try:
        reference, told_paid = _read(read_body(request, LIMIT))
        confirmation = confirm_payment(
            reference, door=Door.CONFIRM, told_paid=told_paid, client_ip=client_ip(request)
        )
    except TooLarge as error:
        return _invalid(str(error), error.status)
    except (InvalidEvent, InvalidReference):
        return _invalid('Send {"reference": "…"} with a payment reference.', HTTPStatus.BAD_REQUEST)
    data: dict[str, object] = {
        "outcome": confirmation.outcome,
        "reference": confirmation.reference,
        "result_url": _result_url(request, confirmation),
    }
    return json_response(
        data, status=STATUSES[confirmation.outcome], retry_after=confirmation.retry_after
    )


def _read(body: bytes) -> tuple[str, bool]:
    """Return the reference, and whether the client says that it is paid."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidEvent("The body is not JSON.") from error
    reference = payload.get("reference") if isinstance(payload, dict) else None
    if not isinstance(reference, str):
        raise InvalidEvent("The body names no reference.")
    return reference, payload.get("paid") is True


def _result_url(request: HttpRequest, confirmation: Confirmation) -> str | None:
    """Return the absolute URL of the result page; None if there is no transaction."""
    if confirmation.transaction is None:
        return None
    path = reverse(conf.result_view, kwargs={"token": confirmation.transaction.token})
    return f"{conf.site_url}{path}" if conf.site_url else request.build_absolute_uri(path)


def _invalid(detail: str, status: int) -> HttpResponse:
    return json_response({"outcome": "invalid", "detail": detail}, status=status)
