"""The views of a payment's result; they read the database and make no call to the service."""

from http import HTTPStatus
from uuid import UUID

from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import reverse
from django.utils.http import urlencode

from payments_pages.choices import Outcome
from payments_pages.conf import conf
from payments_pages.confirmation import describe, find_by_token
from payments_pages.db import is_transient
from payments_pages.views.decorators import door, json_response
from payments_pages.views.rendering import page_of, render_result

__all__ = ["result", "result_status"]


@door
def result(request: HttpRequest, token: UUID) -> HttpResponse:
    """Show the state of a payment now, without data of the payer."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET", "HEAD"])
    try:
        transaction = find_by_token(token)
    except (DatabaseError, InterfaceError) as error:
        if not is_transient(error):
            raise
        status = HTTPStatus.SERVICE_UNAVAILABLE
        return render_result(request, "unavailable", status=status, retry_url=request.path)
    if transaction is None:
        return render_result(request, "unknown", status=HTTPStatus.NOT_FOUND, by_path=True)
    confirmation = describe(transaction)
    query = urlencode({conf.reference_params[0]: transaction.reference})
    return render_result(
        request,
        page_of(confirmation),
        retry_url=f"{reverse('payments_pages:callback')}?{query}",
        status_url=reverse("payments_pages:result-status", args=[token]),
        confirmation=confirmation,
        by_path=True,
    )


@door
def result_status(request: HttpRequest, token: UUID) -> HttpResponse:
    """Return the outcome now, and the name of its page, to the script of the result page."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET", "HEAD"])
    transaction = find_by_token(token)
    if transaction is None:
        return json_response({"outcome": Outcome.UNKNOWN}, status=HTTPStatus.NOT_FOUND)
    confirmation = describe(transaction)
    return json_response({"outcome": confirmation.outcome, "page": page_of(confirmation)})
