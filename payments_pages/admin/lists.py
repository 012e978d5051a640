"""The base of all our lists: as fast over a million rows as over a thousand.

Nothing is counted beyond `CAP`, no filter reads the table for its choices, and a reader can sort
only by columns with an index. A list that `DaysFilter` filters names its field:

    class TransactionAdmin(ReadOnlyAdmin):
        list_filter = (("paid_at", DaysFilter),)
        time_field = "paid_at"           # instead of date_hierarchy
        index_orders = {"fulfilment__": "-fulfilment__transaction_id"}

`index_orders`: if a query parameter starts with that prefix, order by that column instead of by
`-pk`. The order is the same, but an index of the filtered table then serves filter and order.

A template of one model extends `admin/payments_pages/change_list.html`, whose blocks `nothing` and
`nothing_found` are what is said in place of an empty table.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR, ChangeList
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from payments_pages.ids import parse_id

__all__ = ["CAP", "CappedChangeList", "CappedPaginator", "ListAdmin", "Names", "Several"]

Names: TypeAlias = list[str] | tuple[str, ...]
Several: TypeAlias = list[Any] | tuple[Any, ...]
"""What Django takes for options such as `list_display`.

Our admin classes name these types, so that a subclass may have a longer or shorter option, or a
list in place of a tuple (docs/cases.md F10).
"""

CAP = 10_000
"""Rows that a list counts and shows; to see older ones, filter the list (our decision)."""


_REFUSED = frozenset({"iregex", "range", "regex"})
"""Lookups that a list does not take from an address."""


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # generic for mypy only
    """A paginator that counts at most `CAP` rows and offers no page beyond them.

    `COUNT(*)` reads every row that the filters find, and a page far behind skips as many rows.
    """

    in_order = True
    """Count in list order, which uses the index; unordered, PostgreSQL may scan the table."""

    @cached_property
    def counted(self) -> int:
        """Return the number of rows; `CAP + 1` if there are more than `CAP`."""
        rows = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        rows = rows if self.in_order else rows.order_by()
        return rows[: CAP + 1].count()

    @cached_property
    def count(self) -> int:
        """Return the number of rows on all pages together."""
        return min(self.counted, CAP)

    @property
    def capped(self) -> bool:
        """Say whether there are more rows than the pages show."""
        return self.counted > CAP


class CappedChangeList(ChangeList):
    """A list with a capped count, and an order that an index serves."""

    capped = False

    @property
    def cap_text(self) -> str:
        """Return `CAP` as people write it."""
        return f"{CAP:,}"

    def get_results(self, request: HttpRequest) -> None:
        """Read one page of rows.

        A filter in the URL that no database can answer, such as `paid_at__year=0`, leads back to
        the list, as Django does with one that it cannot read.
        """
        try:
            super().get_results(request)
        except (ValueError, OverflowError, DataError) as error:
            raise IncorrectLookupParameters(error) from error
        self.capped = getattr(self.paginator, "capped", False)
        if self.capped:
            # Otherwise the search form would show the cap as the number of results.
            self.full_result_count = self.result_count

    def _get_default_ordering(self) -> Any:
        """Return the order of the index that serves the filters, or the list's own."""
        field = getattr(self.model_admin, "time_field", None)
        if field and self._is_bounded(field):
            return [f"-{field}", "-pk"]
        orders: Mapping[str, str] = getattr(self.model_admin, "index_orders", {})
        for prefix, order in orders.items():
            if any(name.startswith(prefix) for name in self.params):
                return [order]
        return super()._get_default_ordering()  # type: ignore[misc]  # Django's own, not in its stubs

    def _is_bounded(self, field: str) -> bool:
        """Say whether the filters leave only rows that have a time."""
        bounds = (f"{field}__{lookup}" for lookup in ("gt", "gte", "lt", "lte", "from", "to"))
        has_time = self.params.get(f"{field}__isnull") in {"False", "0"}
        return has_time or any(self.params.get(bound) for bound in bounds)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """Return the order asked for, or the default; within a period that is the order by time.

        A column in the URL that cannot be sorted by is ignored: without an index the database
        would sort the whole table.
        """
        asked = [part for part in self.params.get(ORDER_VAR, "").split(".") if self._may_sort(part)]
        if not asked:
            self.params.pop(ORDER_VAR, None)
            return list(self._get_default_ordering())
        self.params[ORDER_VAR] = ".".join(asked)
        return list(super().get_ordering(request, queryset.order_by()))

    def _may_sort(self, part: str) -> bool:
        number = parse_id(part.lstrip("-"))
        if number is None or number >= len(self.list_display):
            return False
        return self.sortable_by is None or self.list_display[number] in self.sortable_by

    def _get_deterministic_ordering(self, ordering: Any) -> list[Any]:
        """Break ties by pk in the direction of the last column, as the index (time, pk) does."""
        last = ordering[-1] if ordering else None
        if isinstance(last, str) and not last.startswith("-"):
            ordering = [*ordering, self.lookup_opts.pk.name]
        return super()._get_deterministic_ordering(ordering)  # type: ignore[misc, no-any-return]  # Django's own, not in its stubs


class ListAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """A `ModelAdmin` whose list never counts or reads all rows."""

    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    list_per_page = 100
    paginator = CappedPaginator
    time_field: str | None = None
    """The indexed DateTimeField of the list's `DaysFilter`."""
    index_orders: Mapping[str, str] = {}
    """By the prefix of a query parameter, the order of its filter's index."""

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Refuse what no filter of ours asks, and what databases fail at, each in its own way."""
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed and lookup.rpartition("__")[2] not in _REFUSED

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return our list."""
        return CappedChangeList

    def get_paginator(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Return the paginator; no index has the order of what a search finds."""
        paginator = super().get_paginator(request, *args, **kwargs)
        if isinstance(paginator, CappedPaginator):
            paginator.in_order = SEARCH_VAR not in request.GET
        return paginator

    def response_action(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponse | None:
        """Run an action; refuse "all rows" if there are more than the list counts."""
        everything = request.POST.get("select_across") not in {None, "", "0"}
        if everything and CappedPaginator(queryset, self.list_per_page).capped:
            text = _("There are more than %(cap)s rows. Narrow the list first, then select all.")
            self.message_user(request, text % {"cap": f"{CAP:,}"}, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        return super().response_action(request, queryset, *args, **kwargs)
