"""Download the list of payments as CSV: all rows under its filters, or the ticked ones."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import (
    HttpRequest,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    QueryDict,
    StreamingHttpResponse,
)
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.transactions.search import CUSTOMER_FIELDS
from payments_pages.models import Transaction
from payments_pages.staff import write_csv

__all__ = ["export_selected", "export_view"]


@admin.action(description=gettext_lazy("Export as CSV"), permissions=["export"])
def export_selected(
    modeladmin: Any,
    request: HttpRequest,
    queryset: QuerySet[Transaction],
) -> HttpResponseBase:
    """Download the rows that are ticked."""
    return _download(request, queryset, _("the selected rows"))


def export_view(model_admin: Any, request: HttpRequest) -> HttpResponseBase:
    """Download all rows of the list under the filters in the URL; POST only.

    403 without the permissions to see and to export transactions. A filter that makes no sense
    redirects to the list, as Django does there. A GET is refused, so that only a person who
    presses the button writes a line into the audit trail.
    """
    if not (
        model_admin.has_export_permission(request) and model_admin.has_view_permission(request)
    ):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        shown = model_admin.get_changelist_instance(request)
    except IncorrectLookupParameters:
        url = model_admin.reverse("payments_pages_transaction_changelist")
        return HttpResponseRedirect(f"{url}?e=1")
    return _download(request, shown.queryset, _describe(request.GET))


def _download(
    request: HttpRequest, transactions: QuerySet[Transaction], what: str
) -> StreamingHttpResponse:
    """Log who exports what, then start the download: there is none without that line."""
    customers_shown = sees_customers(request)
    _log_export(request, what, customers_shown=customers_shown)
    pieces = write_csv(transactions, customers_shown=customers_shown)
    return StreamingHttpResponse(
        _aiter(pieces) if isinstance(request, ASGIRequest) else pieces,
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="transactions-{timezone.localdate()}.csv"',
            "Cache-Control": "no-store, private",
            # Without this, nginx would store the whole file before it sends the first row.
            "X-Accel-Buffering": "no",
        },
    )


async def _aiter(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces: under ASGI, Django would first read a plain iterator to its end."""
    while (piece := await sync_to_async(_next)(pieces)) is not None:
        yield piece


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)


def _log_export(request: HttpRequest, what: str, *, customers_shown: bool) -> None:
    """Write the line of the audit trail."""
    if customers_shown:
        text = _("Exported, with customers' details: %(what)s")
    else:
        text = _("Exported, with customers' details masked: %(what)s")
    LogEntry.objects.create(
        user_id=request.user.pk,  # type: ignore[misc]  # a signed-in user has a primary key
        content_type=ContentType.objects.get_for_model(Transaction),
        object_id=None,
        object_repr=_("CSV export"),
        action_flag=CHANGE,
        change_message=text % {"what": what},
    )


def _describe(filters: QueryDict) -> str:
    """Name the filters of the list, without a searched text: it may be an e-mail address."""
    named = [
        f"{name}={'…' if _may_be_personal(name) else value}"
        for name, value in sorted(filters.items())
        if name not in {"o", "p", "all"}
    ]
    return ", ".join(named) or _("all payments")


def _may_be_personal(name: str) -> bool:
    return name == SEARCH_VAR or name.split("__", maxsplit=1)[0] in CUSTOMER_FIELDS
