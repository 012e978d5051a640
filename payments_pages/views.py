"""Answer payers. A view checks the request, takes the reference, calls one use case, answers."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.csrf import csrf_exempt

from payments_pages.choices import Door, Mode, Outcome
from payments_pages.conf import conf
from payments_pages.confirmation import Confirmation, confirm_payment, describe
from payments_pages.databases import outside_transactions
from payments_pages.exceptions import InvalidReference
from payments_pages.mirror import find_by_token
from payments_pages.models import Transaction
from payments_pages.money import format_amount

__all__ = ["callback", "result", "result_status"]

View = Callable[..., HttpResponse]

# Our pages need one stylesheet of their own and nothing else; nobody may frame them.
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

PAGES = {
    Outcome.DELIVERED: "paid",
    Outcome.ALREADY_DELIVERED: "paid",
    Outcome.DELIVERING: "processing",
    Outcome.DELIVERY_FAILED: "processing",
    Outcome.PENDING: "processing",
    Outcome.HELD: "checking",
    Outcome.REJECTED: "checking",
    Outcome.NOT_PAID: "not_paid",
    Outcome.UNKNOWN: "unknown",
    Outcome.UNAVAILABLE: "unavailable",
}
"""The six things a payer can be told, by outcome."""


def door(view: View) -> View:
    """Make a view a door for payers: no login, no shared transaction, no traces.

    Login-exempt, for a payer may have none here, and the session cookie may not come back with
    them (case C49). Non-atomic, for the path opens its own short transactions and must not make
    a network call inside one of the request's (cases C20, C22). CSRF-exempt, for a POST must be
    answered 405 and never with a CSRF page (case C33); nothing here acts by session.
    """

    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response.headers["Cache-Control"] = "no-store, private"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Robots-Tag"] = "noindex, nofollow"
        response.headers.setdefault("Content-Security-Policy", _POLICY)
        return response

    return csrf_exempt(outside_transactions(login_not_required(guarded)))


@door
def callback(request: HttpRequest, page_token: UUID | None = None) -> HttpResponse:
    """Take a payer who comes back: confirm, then leave the reference out of the address bar."""
    if request.method != "GET" or _is_prefetch(request):
        return _not_a_visit(request)
    try:
        reference = _reference(request)
        confirmation = confirm_payment(reference, door=Door.CALLBACK, page_token=page_token)
    except InvalidReference:
        return _show(request, "unknown", status=HTTPStatus.BAD_REQUEST)
    page = PAGES[confirmation.outcome]
    if confirmation.transaction is not None and page != "unavailable":
        response = redirect(conf.result_view, token=confirmation.transaction.token)
        response.status_code = HTTPStatus.SEE_OTHER
        return response
    status = HTTPStatus.NOT_FOUND if page == "unknown" else HTTPStatus.OK
    again = f"{request.path}?{urlencode({conf.reference_params[0]: confirmation.reference})}"
    return _show(request, page, status=status, again=again, confirmation=confirmation)


@door
def result(request: HttpRequest, token: UUID) -> HttpResponse:
    """Show what is true about a payment now, from the database, without a payer's data."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET", "HEAD"])
    found = find_by_token(token)
    if found is None:
        return _show(request, "unknown", status=HTTPStatus.NOT_FOUND)
    confirmation = describe(found)
    again = _callback_address(found)
    return _show(request, PAGES[confirmation.outcome], again=again, confirmation=confirmation)


@door
def result_status(request: HttpRequest, token: UUID) -> HttpResponse:
    """Tell the result page's poller whether the page it shows is still true."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET", "HEAD"])
    found = find_by_token(token)
    if found is None:
        return JsonResponse({"outcome": Outcome.UNKNOWN}, status=HTTPStatus.NOT_FOUND)
    outcome = describe(found).outcome
    return JsonResponse({"outcome": outcome, "page": PAGES[outcome]})


def _reference(request: HttpRequest) -> str:
    """Take the one reference out of the query; raise `InvalidReference` for none or several.

    Gateways have been seen to repeat a parameter and to send two names for it: equal values are
    one, different ones are nobody's (case C40).
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


def _callback_address(found: Transaction) -> str:
    query = urlencode({conf.reference_params[0]: found.reference})
    return f"{reverse('payments_pages:callback')}?{query}"


def _show(
    request: HttpRequest,
    page: str,
    *,
    status: int = HTTPStatus.OK,
    again: str = "",
    confirmation: Confirmation | None = None,
) -> HttpResponse:
    found = confirmation.transaction if confirmation else None
    context = {
        "page": page,
        "again": again,
        "reference": confirmation.reference if confirmation else "",
        "transaction": found,
        "amount": format_amount(found.amount, found.currency, conf.exponents) if found else "",
        "page_name": found.page.name if found and found.page else "",
        "test": found is not None and found.domain == Mode.TEST,
    }
    return render(request, f"payments_pages/{page}.html", context, status=status)
