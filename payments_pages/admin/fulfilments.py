"""Lead from deliveries to the payments they belong to: there is one work list, and one story."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.models import Fulfilment

__all__ = ["FulfilmentAdmin"]

_KEPT = {
    "q": "q",
    "state__exact": "fulfilment__state__exact",
    "reason__exact": "held",
}
"""Query parameters of an old address, and what they are called in the list of transactions."""


@admin.register(Fulfilment)
class FulfilmentAdmin(ReadOnlyAdmin):
    """Keep the permissions and the addresses; what is shown is the transaction."""

    search_fields = ("transaction__reference__exact",)
    ordering = ("-pk",)

    def has_module_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - Django's signature
        """Leave it out of the index."""
        return False

    def changelist_view(
        self,
        request: HttpRequest,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002 - Django's signature
    ) -> HttpResponse:
        """Lead to the list of transactions, with the filters that it has too."""
        self._require_view(request)
        kept = {_KEPT[name]: text for name, text in request.GET.items() if name in _KEPT}
        url = self._address("changelist")
        return HttpResponseRedirect(f"{url}?{urlencode(kept)}" if kept else url)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",  # noqa: ARG002 - Django's signature
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002 - Django's signature
    ) -> HttpResponse:
        """Lead to the transaction; refuse to add or change."""
        return self._lead(request, object_id, "change")

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002 - Django's signature
    ) -> HttpResponse:
        """Lead to the transaction's history."""
        return self._lead(request, object_id, "history")

    def _lead(self, request: HttpRequest, object_id: str | None, name: str) -> HttpResponse:
        self._require_view(request)
        if object_id is None or request.method not in {"GET", "HEAD"}:
            raise PermissionDenied
        row = self.get_object(request, unquote(object_id))
        if row is None:
            missing: HttpResponse = self._get_obj_does_not_exist_redirect(  # type: ignore[attr-defined]  # not in the stubs
                request, self.opts, object_id
            )
            return missing
        return HttpResponseRedirect(self._address(name, row.transaction_id))

    def _require_view(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    def _address(self, name: str, *args: object) -> str:
        view = f"admin:payments_pages_transaction_{name}"
        return reverse(view, args=args, current_app=self.admin_site.name)
