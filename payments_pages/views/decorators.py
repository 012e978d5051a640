"""The decorator of every public view: its exemptions, its headers, and a database that is down."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from payments_pages.choices import Outcome
from payments_pages.confirmation import COME_BACK
from payments_pages.db import is_transient, outside_transactions
from payments_pages.views.policy import is_policy_ours, policy

__all__ = ["View", "door", "json_response"]

View = Callable[..., HttpResponse]


def door(view: View) -> View:
    """Make a view public, and its responses private.

    - Exempt from login: payers may have no account here, their session cookie may not come back
      with them (docs/cases.md C49), and the service has no account.
    - Outside of `ATOMIC_REQUESTS`: the path opens its own short transactions, and must not call
      the service inside of one (docs/cases.md C20, C22).
    - Exempt from CSRF checks: no view acts by the session. A POST to the callback must get a 405
      and not a CSRF page (docs/cases.md C33), and confirm can do no more than a callback.
    - The response is not cached or indexed, sends no referrer, and loads only our own files, where
      the site has no content security policy of its own.
    - A short-lived error of the database becomes a 503 with Retry-After.
    """

    @wraps(view)
    def public_view(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        try:
            response = view(request, *args, **kwargs)
        except (DatabaseError, InterfaceError) as error:
            if not is_transient(error):
                raise
            status = HTTPStatus.SERVICE_UNAVAILABLE
            data: dict[str, object] = {"outcome": Outcome.UNAVAILABLE}
            response = json_response(data, status=status, retry_after=COME_BACK)
        response.headers["Cache-Control"] = "no-store, private"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Robots-Tag"] = "noindex, nofollow"
        if is_policy_ours():
            response.headers.setdefault("Content-Security-Policy", policy())
        return response

    return csrf_exempt(outside_transactions(login_not_required(public_view)))


def json_response(
    data: dict[str, object], *, status: int = 200, retry_after: int | None = None
) -> JsonResponse:
    """Return a JSON response; `retry_after` is the seconds of its Retry-After header."""
    response = JsonResponse(data, status=status)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response
