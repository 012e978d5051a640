"""The view to which the service redirects payers after payment."""

from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils import translation
from django.utils.http import urlencode

from payments_pages.choices import Door
from payments_pages.conf import conf
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import InvalidReference
from payments_pages.views.decorators import door
from payments_pages.views.languages import LANGUAGE_PARAM, choose_language
from payments_pages.views.rendering import page_of, render_result
from payments_pages.views.requests import client_ip

__all__ = ["callback"]


@door
def callback(request: HttpRequest, page_token: UUID | None = None) -> HttpResponse:
    """Confirm the reference in the query of a payer who comes back, and show the result.

    If there is a transaction, the response redirects to its result page, so that the reference is
    no longer in the browser's address bar. `page_token` is the token of the page whose callback
    it is.
    """
    if request.method != "GET" or _is_prefetch(request):
        return _respond_without_call(request)
    try:
        reference = _reference(request)
        confirmation = confirm_payment(
            reference, door=Door.CALLBACK, page_token=page_token, client_ip=client_ip(request)
        )
    except InvalidReference:
        return render_result(request, "unknown", status=HTTPStatus.BAD_REQUEST, may_have_paid=True)
    page = page_of(confirmation)
    if confirmation.transaction is not None and page != "unavailable":
        return _redirect_to_result(request, confirmation.transaction.token)
    status = HTTPStatus.NOT_FOUND if page == "unknown" else HTTPStatus.OK
    query = urlencode({conf.reference_params[0]: confirmation.reference})
    retry_url = f"{request.path}?{query}"
    return render_result(
        request,
        page,
        status=status,
        retry_url=retry_url,
        confirmation=confirmation,
        may_have_paid=True,
    )


def _redirect_to_result(request: HttpRequest, token: UUID) -> HttpResponse:
    """Redirect the payer to the result page, in the language they have chosen.

    Under `i18n_patterns()` the language is in the path, and everybody comes back to one address:
    the payer's own wish counts, not the language of that address.
    """
    with translation.override(choose_language(request)):
        url = reverse(conf.result_view, kwargs={"token": token})
    if language := request.GET.get(LANGUAGE_PARAM):
        url += f"?{urlencode({LANGUAGE_PARAM: language})}"
    return HttpResponseRedirect(url, status=HTTPStatus.SEE_OTHER)


def _reference(request: HttpRequest) -> str:
    """Return the reference in the query; raise `InvalidReference` if there is none, or several.

    Some gateways repeat a parameter, or send the reference under two names. Equal values count as
    one (docs/cases.md C40).
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


def _respond_without_call(request: HttpRequest) -> HttpResponse:
    """Respond to a request that is not a payer's visit; the service is not asked."""
    if request.method in {"GET", "HEAD"}:
        # A prefetch or a link checker. Browsers do not show a 204; the payer's visit comes later.
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    if request.method == "OPTIONS":
        return HttpResponse(status=HTTPStatus.NO_CONTENT, headers={"Allow": "GET, HEAD, OPTIONS"})
    return HttpResponseNotAllowed(["GET", "HEAD", "OPTIONS"])
