"""Download the list of payments: all rows under its filters, or the ticked ones.

As CSV, or as a workbook for Excel if the extra `[xlsx]` is installed.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Final, NamedTuple

from asgiref.sync import sync_to_async
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    QueryDict,
    StreamingHttpResponse,
)
from django.utils import timezone
from django.utils.translation import gettext_lazy, gettext_noop

from payments_pages.admin.filters import PageFilter
from payments_pages.admin.history import log_entry, made
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.transactions.search import CUSTOMER_FIELDS
from payments_pages.ids import parse_id
from payments_pages.models import PaymentPage, Transaction
from payments_pages.staff import can_write_workbook, write_csv, write_workbook

__all__ = ["export_selected", "export_selected_workbook", "export_view", "export_workbook_view"]

_PIECE: Final = 64 * 1024
"""Bytes of a workbook that are sent at a time."""


@admin.action(description=gettext_lazy("Export as CSV"), permissions=["export"])
def export_selected(
    modeladmin: Any,
    request: HttpRequest,
    queryset: QuerySet[Transaction],
) -> HttpResponseBase:
    """Download the rows that are ticked."""
    return _download(request, queryset, _SELECTED, _CSV)


@admin.action(description=gettext_lazy("Export for Excel"), permissions=["export_workbook"])
def export_selected_workbook(
    modeladmin: Any,
    request: HttpRequest,
    queryset: QuerySet[Transaction],
) -> HttpResponseBase:
    """Download the rows that are ticked, as a workbook."""
    return _download(request, queryset, _SELECTED, _WORKBOOK)


def export_view(model_admin: Any, request: HttpRequest) -> HttpResponseBase:
    """Download all rows of the list under the filters in the URL; POST only.

    403 without the permissions to see and to export transactions. A filter that makes no sense
    redirects to the list, as Django does there. A GET is refused, so that only a person who
    presses the button writes a line into the audit trail.
    """
    return _export(model_admin, request, _CSV)


def export_workbook_view(model_admin: Any, request: HttpRequest) -> HttpResponseBase:
    """Download the same as a workbook; 404 without the library that writes them."""
    if not can_write_workbook():
        raise Http404
    return _export(model_admin, request, _WORKBOOK)


class _FilePieces(Iterator[bytes]):
    """The pieces of a file, which is closed with the response."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = file.seek(0, 2)
        file.seek(0)

    def __next__(self) -> bytes:
        if piece := self._file.read(_PIECE):
            return piece
        self.close()
        raise StopIteration

    def close(self) -> None:
        """Close the file; Django calls this when the response has been sent or broken off."""
        self._file.close()


def _workbook_pieces(transactions: QuerySet[Transaction], **options: Any) -> _FilePieces:
    return _FilePieces(write_workbook(transactions, **options))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A form that payments are exported in."""

    suffix: str
    content_type: str
    write: Callable[..., Iterator[bytes]]


_CSV: Final = _Form(
    suffix="csv",
    content_type="text/csv; charset=utf-8",
    write=write_csv,
)
_WORKBOOK: Final = _Form(
    suffix="xlsx",
    content_type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    write=_workbook_pieces,
)


class _Chosen(NamedTuple):
    """The payments that are exported: "all", the "selected" ones, or those under `filters`."""

    which: str
    filters: str = ""


_ALL: Final = _Chosen("all")
_SELECTED: Final = _Chosen("selected")
_LOGGED: Final = {
    ("all", True): gettext_noop("export of all payments, with customers' details"),
    ("all", False): gettext_noop("export of all payments, with customers' details masked"),
    ("filtered", True): gettext_noop("export of filtered payments, with customers' details"),
    ("filtered", False): gettext_noop(
        "export of filtered payments, with customers' details masked"
    ),
    ("selected", True): gettext_noop("export of selected payments, with customers' details"),
    ("selected", False): gettext_noop(
        "export of selected payments, with customers' details masked"
    ),
}
"""How the history of the admin names an export: what, and whether customers' details are in it."""


def _export(model_admin: Any, request: HttpRequest, form: _Form) -> HttpResponseBase:
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
    return _download(request, shown.queryset, _filtered(request.GET), form)


def _download(
    request: HttpRequest, transactions: QuerySet[Transaction], chosen: _Chosen, form: _Form
) -> StreamingHttpResponse:
    """Log who exports what, then start the download: there is none without that line."""
    customers_shown = sees_customers(request)
    file_name = f"transactions-{timezone.localdate()}.{form.suffix}"
    _log_export(request, file_name, chosen, customers_shown=customers_shown)
    page = _filtered_page(request.GET)
    pieces = form.write(transactions, customers_shown=customers_shown, page=page)
    response = StreamingHttpResponse(
        _aiter(pieces) if isinstance(request, ASGIRequest) else pieces,
        content_type=form.content_type,
        headers={
            "Content-Disposition": f'attachment; filename="{file_name}"',
            "Cache-Control": "no-store, private",
            # Without this, nginx would store the whole file before it sends the first row.
            "X-Accel-Buffering": "no",
        },
    )
    if isinstance(pieces, _FilePieces):
        # A browser then knows a download that was broken off.
        response["Content-Length"] = str(pieces.size)
    return response


def _filtered_page(filters: QueryDict) -> PaymentPage | None:
    """Return the page that the list is filtered by; None if it may show several."""
    page = parse_id(filters.get(PageFilter.parameter_name, ""))
    return None if page is None else PaymentPage.objects.filter(pk=page).first()


async def _aiter(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces: under ASGI, Django would first read a plain iterator to its end."""
    try:
        while (piece := await sync_to_async(_next)(pieces)) is not None:
            yield piece
    finally:
        if isinstance(pieces, _FilePieces):
            pieces.close()


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)


def _log_export(
    request: HttpRequest, file_name: str, chosen: _Chosen, *, customers_shown: bool
) -> None:
    """Write the line of the audit trail; the name of the file is also that of the line."""
    message = made(_LOGGED[chosen.which, customers_shown], chosen.filters or file_name)
    log_entry(request, Transaction, message, named=file_name)


def _filtered(filters: QueryDict) -> _Chosen:
    """Name the filters of the list, without a searched text: it may be an e-mail address."""
    named = [
        f"{name}={'…' if _may_be_personal(name) else value}"
        for name, value in sorted(filters.items())
        if name not in {"o", "p", "all"}
    ]
    return _Chosen("filtered", ", ".join(named)) if named else _ALL


def _may_be_personal(name: str) -> bool:
    return name == SEARCH_VAR or name.split("__", maxsplit=1)[0] in CUSTOMER_FIELDS
