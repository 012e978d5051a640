"""The view that tells a monitor whether due rows are worked off in time."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from payments_pages.conf import conf
from payments_pages.confirmation import oldest_due
from payments_pages.views.decorators import door, json_response

__all__ = ["health"]


@door
def health(request: HttpRequest) -> HttpResponse:
    """Return 200 if the oldest due row has waited for at most `OVERDUE` seconds, else 503."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET", "HEAD"])
    age = oldest_due()
    seconds = 0 if age is None else max(0, int(age.total_seconds()))
    late = seconds > conf.overdue
    status = HTTPStatus.SERVICE_UNAVAILABLE if late else HTTPStatus.OK
    return json_response({"oldest_due_seconds": seconds, "overdue": late}, status=status)
