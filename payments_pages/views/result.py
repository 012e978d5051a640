"""Show the result of a payment, from the database alone."""

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
from payments_pages.views.rendering import PAGES, show

__all__ = ["result", "result_status"]


@door
def result(request: HttpRequest, token: UUID) -> HttpResponse:
    """Show what is true about a payment now, without a payer's data."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET", "HEAD"])
    try:
        found = find_by_token(token)
    except (DatabaseError, InterfaceError) as error:
        if not is_transient(error):
            raise
        status = HTTPStatus.SERVICE_UNAVAILABLE
        return show(request, "unavailable", status=status, again=request.path)
    if found is None:
        return show(request, "unknown", status=HTTPStatus.NOT_FOUND)
    confirmation = describe(found)
    query = urlencode({conf.reference_params[0]: found.reference})
    return show(
        request,
        PAGES[confirmation.outcome],
        again=f"{reverse('payments_pages:callback')}?{query}",
        watch=reverse("payments_pages:result-status", args=[token]),
        confirmation=confirmation,
    )


@door
def result_status(request: HttpRequest, token: UUID) -> HttpResponse:
    """Tell the result page's script whether the page it is on is still true."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET", "HEAD"])
    found = find_by_token(token)
    if found is None:
        return json_response({"outcome": Outcome.UNKNOWN}, status=HTTPStatus.NOT_FOUND)
    outcome = describe(found).outcome
    return json_response({"outcome": outcome, "page": PAGES[outcome]})
