"""List filters whose choices do not come from the table.

Django's own filter for such a column runs `SELECT DISTINCT` over the whole table for its choices;
these take them from the service's interface, our choices and the settings. Other values can still
be found: by "other", and by the value in the URL.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin.statuses import payment_word
from payments_pages.choices import Mode
from payments_pages.conf import conf
from payments_pages.confirmation import contradicted, lapsed, open_for_long, unrecorded
from payments_pages.ids import parse_id
from payments_pages.models import PaymentPage, Verification

__all__ = [
    "OPTIONS",
    "STATUSES",
    "CurrencyFilter",
    "ModeFilter",
    "PageFilter",
    "StatusFilter",
    "TroubleFilter",
    "VouchedFilter",
    "WordFilter",
]

OPTIONS = 50
"""Choices offered at most."""
STATUSES = (
    "success",
    "failed",
    "abandoned",
    "reversed",
    "pending",
    "ongoing",
    "processing",
    "queued",
)
"""The payment statuses that the service documents, or that similar services send."""


class WordFilter(admin.FieldListFilter):
    """A filter of a text column by known words, and by "other": every other value.

    Parameters are the column's name, as in `status=success`, also with `__exact`, and
    `status__other=1`. A word in the URL that is not offered is shown verbatim.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.parameter: str = kwargs["field_path"]
        self.exact = f"{self.parameter}__exact"
        self.other = f"{self.parameter}__other"
        super().__init__(*args, **kwargs)
        self.others_asked = self.used_parameters.pop(self.other, None) is not None
        values: dict[str, Any] = self.used_parameters
        named = [*values.get(self.parameter, ()), *values.get(self.exact, ())]
        self.chosen: str | None = named[-1] if named else None

    def words(self) -> Iterable[tuple[str, str]]:
        """Return (word, label) of the known words; at most `OPTIONS`."""
        raise NotImplementedError

    def expected_parameters(self) -> list[str | None]:
        """Return the parameters of this filter."""
        return [self.parameter, self.exact, self.other]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Filter the list; "other" by the ranges between the known words, for the index."""
        if self.others_asked:
            # In a subquery: otherwise SQLite reads the whole table in the list's order.
            others = queryset.model.objects.using(queryset.db).filter(self._gaps())
            queryset = queryset.filter(pk__in=others.values("pk"))
        if self.chosen is not None and "\0" in self.chosen:
            return queryset.none()  # PostgreSQL refuses a NUL in a text
        return super().queryset(request, queryset)

    def _gaps(self) -> Q:
        """Return "none of the known words" as ranges: `NOT IN` would read the whole table."""
        gaps = Q()
        below: str | None = None
        for word in sorted(word for word, _name in self.words()):
            gap = Q(**{f"{self.field_path}__lt": word})
            if below is not None:
                gap &= Q(**{f"{self.field_path}__gt": below})
            gaps |= gap
            below = word
        return gaps if below is None else gaps | Q(**{f"{self.field_path}__gt": below})

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Yield "all", each known word, an unknown word from the URL, and "other"."""
        mine = self.expected_parameters()
        yield {
            "selected": self.chosen is None and not self.others_asked,
            "query_string": changelist.get_query_string(remove=mine),
            "display": _("All"),
        }
        offered = list(self.words())[: OPTIONS - 3]
        if self.chosen is not None and self.chosen not in dict(offered):
            offered.append((self.chosen, self.chosen))
        for word, name in offered:
            yield {
                "selected": self.chosen == word,
                "query_string": changelist.get_query_string({self.parameter: word}, remove=mine),
                "display": name,
            }
        yield {
            "selected": self.others_asked,
            "query_string": changelist.get_query_string({self.other: 1}, remove=mine),
            "display": _("Other"),
        }


class StatusFilter(WordFilter):
    """By the status at the service, worded as in the list."""

    def words(self) -> Iterable[tuple[str, str]]:
        """Return the statuses seen or documented."""
        return [(word, payment_word(word)) for word in STATUSES]


class CurrencyFilter(WordFilter):
    """By a currency of the settings."""

    def words(self) -> Iterable[tuple[str, str]]:
        """Return the codes."""
        return [(code, code) for code in sorted(conf.exponents)]


class ModeFilter(WordFilter):
    """By the service's `domain`, shown in the reader's language."""

    def words(self) -> Iterable[tuple[str, str]]:
        """Return test and live."""
        return [(value, str(name)) for value, name in Mode.choices]


class VouchedFilter(admin.SimpleListFilter):
    """Open verifications by whether a trusted source named the reference.

    Settled ones, which are most of the table, are left out: nobody asks about them any more.
    """

    title = gettext_lazy("vouched for")
    parameter_name = "vouched__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return yes and no."""
        return [("1", _("Yes, still asked about")), ("0", _("No, still asked about"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Filter the list to the open ones of that kind."""
        chosen = self.value()
        if chosen is None:
            return None
        rows = Verification.objects.using(queryset.db)
        found = rows.filter(state__in=rows.open_states, vouched=chosen == "1")
        # In a subquery: otherwise SQLite reads the whole table in the list's order.
        return queryset.filter(pk__in=found.values("pk"))


class TroubleFilter(admin.SimpleListFilter):
    """By the trouble that asking again does not settle: each is a line of "Needs attention"."""

    title = gettext_lazy("trouble")
    parameter_name = "trouble"
    contradicted, unrecorded = "contradicted", "unrecorded"
    open_for_long, lapsed = "open", "lapsed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the kinds."""
        return [
            (self.contradicted, _("Called paid, not confirmed")),
            (self.unrecorded, _("Answer could not be saved")),
            (self.open_for_long, _("Open for more than 30 days")),
            (self.lapsed, _("Given up lately")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Filter the list to one kind."""
        kinds = {
            self.contradicted: contradicted,
            self.unrecorded: unrecorded,
            self.open_for_long: open_for_long,
            self.lapsed: lapsed,
        }
        chosen = kinds.get(self.value() or "")
        if chosen is None:
            return None
        # In a subquery: otherwise SQLite reads the whole table in the list's order.
        return queryset.filter(pk__in=chosen().using(queryset.db).values("pk"))


class PageFilter(admin.SimpleListFilter):
    """By payment page: the newest that are on sale, and the chosen one.

    For any other page, follow the link to its payments from the page's own form. "No page" selects
    payments that belong to none.
    """

    title = gettext_lazy("payment page")
    parameter_name = "page__id__exact"
    template = "admin/payments_pages/page_filter.html"
    none = "none"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the pages; one query, and one more for a chosen page that is not among them."""
        newest = PaymentPage.objects.filter(active=True).order_by("-pk")
        rows = list(newest.values_list("pk", "name")[: OPTIONS - 2])
        choices = [(str(pk), name) for pk, name in rows[: OPTIONS - 3]]
        self.is_cut = len(rows) > len(choices)
        chosen = self.value()
        page = parse_id(chosen or "")
        if chosen and page is not None and chosen not in dict(choices):
            named = PaymentPage.objects.filter(pk=page).values_list("name", flat=True)
            choices += [(chosen, name) for name in named]
        return [*choices, (self.none, _("No page"))]

    def has_output(self) -> bool:
        """Show the filter even without pages: "no page" is a choice."""
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Filter the list to the page; a text that is not an id finds nothing."""
        chosen = self.value()
        if chosen is None:
            return None
        if chosen == self.none:
            return queryset.filter(page__isnull=True)
        page = parse_id(chosen)
        return queryset.none() if page is None else queryset.filter(page_id=page)
