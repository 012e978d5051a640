"""Hold what all doors have in common: who may come in, and what an answer must carry."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from payments_pages.choices import Outcome
from payments_pages.confirmation import COME_BACK
from payments_pages.db import is_transient, outside_transactions

__all__ = ["View", "door", "json_response"]

View = Callable[..., HttpResponse]


def door(view: View) -> View:
    """Make a view a door: no login, no shared transaction, no traces.

    Login-exempt, for a payer may have none here, the session cookie may not come back with them
    (docs/cases.md C49), and the service has none. Non-atomic, for the path opens its own short
    transactions and must not make a network call inside one of the request's (docs/cases.md C20, C22).
    CSRF-exempt, for nothing here acts by session: a callback's POST must be answered 405 and
    never with a CSRF page (docs/cases.md C33), and confirm can do no more than a callback.

    A database that is busy or away is 503 with Retry-After: nobody's fault, and it passes.
    """

    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
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
        response.headers.setdefault("Content-Security-Policy", _policy())
        return response

    return csrf_exempt(outside_transactions(login_not_required(guarded)))


def json_response(
    data: dict[str, object], *, status: int = 200, retry_after: int | None = None
) -> JsonResponse:
    """Return JSON for a program, and when it may ask again, in seconds."""
    response = JsonResponse(data, status=status)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response


def _policy() -> str:
    """Allow our own stylesheet and script, wherever static files are served from; nothing else."""
    parts = urlsplit(settings.STATIC_URL or "")
    static = f"{parts.scheme or 'https'}://{parts.netloc}" if parts.netloc else "'self'"
    images = static if static == "'self'" else f"'self' {static}"
    return (
        f"default-src 'none'; style-src {static}; script-src {static}; img-src {images}; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
