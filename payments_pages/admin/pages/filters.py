"""The filter of pages by their state, with the words of their badges."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.models import sold_here

__all__ = ["StateFilter"]

LISTED = Q(remote_id__isnull=False, missing_since__isnull=True)
NOTHING = Q(pk__in=[])
STATES = {
    "active": LISTED & Q(active=True),
    "inactive": LISTED & Q(active=False),
    "drift": ~Q(drift={}),
    "missing": Q(missing_since__isnull=False),
    "unconfirmed": Q(remote_id__isnull=True),
}


class StateFilter(admin.SimpleListFilter):
    """The states that staff look for: pages on sale, and pages that need attention."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("active", _("active")),
            ("inactive", _("inactive")),
            ("drift", _("changed at the service")),
            ("missing", _("missing at the service")),
            ("unconfirmed", _("not confirmed by the service")),
            ("elsewhere", _("of another site")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Filter by the chosen state; an unknown word matches no page."""
        chosen = self.value()
        if chosen == "elsewhere":
            return queryset.exclude(sold_here())
        return None if chosen is None else queryset.filter(STATES.get(chosen, NOTHING))
