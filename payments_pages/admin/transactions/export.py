"""Let staff download what the list shows, all of it, as CSV."""

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
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    QueryDict,
    StreamingHttpResponse,
)
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin import permissions
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.admin.transactions.search import CUSTOMER_FIELDS
from payments_pages.db import outside_transactions
from payments_pages.models import Transaction
from payments_pages.staff import write_csv

__all__ = ["Export", "export_selected"]


@admin.action(description=gettext_lazy("Export as CSV"), permissions=["export"])
def export_selected(
    modeladmin: Any,  # noqa: ARG001 - Django's signature
    request: HttpRequest,
    queryset: QuerySet[Transaction],
) -> HttpResponseBase:
    """Download the rows that are ticked."""
    return _download(request, queryset, _("the selected rows"))


class Export(ReadOnlyAdmin):
    """Add the button, its address and its permission to the transactions' admin."""

    def has_export_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may take payments out of here."""
        return request.user.has_perm(permissions.EXPORT)

    def get_urls(self) -> list[URLPattern]:
        """Put the export before Django's own addresses, the last of which takes everything."""
        view = outside_transactions(self.admin_site.admin_view(self.export_view))
        own = path("export/", view, name="payments_pages_transaction_export")
        return [own, *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Give the list the address of the button, with the filters of the list."""
        context = dict(extra_context or {})
        if self.has_export_permission(request):
            url = self.reverse("payments_pages_transaction_export")
            context["export_url"] = f"{url}?{request.GET.urlencode()}"
        answer: HttpResponse = super().changelist_view(request, context)
        return answer

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Download all that the list shows under the filters in the address; POST only.

        403 without the permissions to see and to export transactions. A filter that makes no
        sense leads back to the list, as it does there. It is a POST so that nothing but a person
        who presses the button writes a line into the audit trail.
        """
        if not (self.has_export_permission(request) and self.has_view_permission(request)):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            shown = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            url = self.reverse("payments_pages_transaction_changelist")
            return HttpResponseRedirect(f"{url}?e=1")
        return _download(request, shown.queryset, _in_words(request.GET))


def _download(
    request: HttpRequest, transactions: QuerySet[Transaction], what: str
) -> StreamingHttpResponse:
    """Note who takes what, then begin to send it: no export can run without its line."""
    customers_shown = sees_customers(request)
    _note(request, what, customers_shown=customers_shown)
    pieces = write_csv(transactions, customers_shown=customers_shown)
    return StreamingHttpResponse(
        _async(pieces) if isinstance(request, ASGIRequest) else pieces,
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="transactions-{timezone.localdate()}.csv"',
            "Cache-Control": "no-store, private",
            # nginx would collect the file on its disk before it sent the first row.
            "X-Accel-Buffering": "no",
        },
    )


async def _async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Take the pieces one by one: under ASGI Django would first collect all that an iterator has."""
    while (piece := await sync_to_async(_next)(pieces)) is not None:
        yield piece


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)


def _note(request: HttpRequest, what: str, *, customers_shown: bool) -> None:
    """Write the line of the audit trail."""
    if customers_shown:
        text = _("Exported, with customers' details: %(what)s")
    else:
        text = _("Exported, with customers' details masked: %(what)s")
    LogEntry.objects.create(
        user_id=request.user.pk,  # type: ignore[misc]  # who is staff has a key
        content_type=ContentType.objects.get_for_model(Transaction),
        object_id=None,
        object_repr=_("CSV export"),
        action_flag=CHANGE,
        change_message=text % {"what": what},
    )


def _in_words(filters: QueryDict) -> str:
    """Say what the list was filtered by; not what was searched for, which may be a payer's mail."""
    named = [
        f"{name}={'…' if _may_be_personal(name) else value}"
        for name, value in sorted(filters.items())
        if name not in {"o", "p", "all"}
    ]
    return ", ".join(named) or _("all payments")


def _may_be_personal(name: str) -> bool:
    return name == SEARCH_VAR or name.split("__", maxsplit=1)[0] in CUSTOMER_FIELDS
