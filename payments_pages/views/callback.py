"""Take payers who come back from the hosted page."""

from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

from payments_pages.choices import Door
from payments_pages.conf import conf
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import InvalidReference
from payments_pages.views.decorators import door
from payments_pages.views.rendering import LANGUAGE_PARAM, PAGES, show
from payments_pages.views.requests import client_ip

__all__ = ["callback"]


@door
def callback(request: HttpRequest, page_token: UUID | None = None) -> HttpResponse:
    """Take a payer who comes back: confirm, then leave the reference out of the address bar."""
    if request.method != "GET" or _is_prefetch(request):
        return _not_a_visit(request)
    try:
        reference = _reference(request)
        confirmation = confirm_payment(
            reference, door=Door.CALLBACK, page_token=page_token, client_ip=client_ip(request)
        )
    except InvalidReference:
        return show(request, "unknown", status=HTTPStatus.BAD_REQUEST)
    page = PAGES[confirmation.outcome]
    if confirmation.transaction is not None and page != "unavailable":
        return _see_other(request, confirmation.transaction.token)
    status = HTTPStatus.NOT_FOUND if page == "unknown" else HTTPStatus.OK
    again = f"{request.path}?{urlencode({conf.reference_params[0]: confirmation.reference})}"
    return show(request, page, status=status, again=again, confirmation=confirmation)


def _see_other(request: HttpRequest, token: UUID) -> HttpResponse:
    """Send the payer to the result, in the language they have chosen."""
    address = reverse(conf.result_view, kwargs={"token": token})
    if language := request.GET.get(LANGUAGE_PARAM):
        address += f"?{urlencode({LANGUAGE_PARAM: language})}"
    return HttpResponseRedirect(address, status=HTTPStatus.SEE_OTHER)


def _reference(request: HttpRequest) -> str:
    """Take the one reference out of the query; raise `InvalidReference` for none or several.

    Gateways have been seen to repeat a parameter and to send two names for it: equal values are
    one, different ones are nobody's (docs/cases.md C40).
    """
    values = {
        value.strip(" ") for name in conf.reference_params for value in request.GET.getlist(name)
    }
    if len(values) != 1:
        raise InvalidReference("The address must carry exactly one reference.")
    return values.pop()


def _is_prefetch(request: HttpRequest) -> bool:
    purposes = (request.headers.get("Sec-Purpose", ""), request.headers.get("Purpose", ""))
    return any("prefetch" in purpose for purpose in purposes)


def _not_a_visit(request: HttpRequest) -> HttpResponse:
    """Answer what is not a payer's visit without asking anything of the service."""
    if request.method in {"GET", "HEAD"}:
        # A browser's guess or a link checker: 204 is not shown, the visit itself will follow.
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    if request.method == "OPTIONS":
        return HttpResponse(status=HTTPStatus.NO_CONTENT, headers={"Allow": "GET, HEAD, OPTIONS"})
    return HttpResponseNotAllowed(["GET", "HEAD", "OPTIONS"])
