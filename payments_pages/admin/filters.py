"""List filters whose choices do not come from the table.

Django's own filter for such a column runs `SELECT DISTINCT` over the whole table for its choices;
these take them from the service's interface, our choices and the settings. Other values can still
be found: by "other", and by the value in the URL.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin.statuses import payment_word
from payments_pages.choices import Mode, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation import (
    contradicted,
    lapsed,
    open_for_long,
    unknown,
    unreadable,
    unrecorded,
)
from payments_pages.ids import parse_id
from payments_pages.models import PaymentPage, Transaction, Verification

__all__ = [
    "NEWEST",
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
NEWEST = 1000
"""Payments that say which pages are paid lately."""
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
    """A filter by the status at the service, with the words of the list."""

    def words(self) -> Iterable[tuple[str, str]]:
        """Return the statuses seen or documented."""
        return [(word, payment_word(word)) for word in STATUSES]


class CurrencyFilter(WordFilter):
    """A filter by one of the currencies in the settings."""

    def words(self) -> Iterable[tuple[str, str]]:
        """Return the codes."""
        return [(code, code) for code in sorted(conf.exponents)]


class ModeFilter(WordFilter):
    """A filter by mode (the service's `domain`), in the reader's language."""

    def words(self) -> Iterable[tuple[str, str]]:
        """Return test and live."""
        return [(value, str(name)) for value, name in Mode.choices]


class VouchedFilter(admin.SimpleListFilter):
    """A filter of open references: whether a trusted source named them.

    Settled verifications, most of the table, match neither choice: the service is no longer asked
    about them.
    """

    title = gettext_lazy("who named it")
    parameter_name = "vouched__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the two kinds of sources."""
        return [("1", _("Staff, this site or the service")), ("0", _("Only a visitor"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Filter the list to the open ones of that kind."""
        chosen = self.value()
        if chosen is None:
            return None
        rows = Verification.objects.using(queryset.db)
        found = rows.filter(state__in=VerificationState.open(), vouched=chosen == "1")
        # In a subquery: otherwise SQLite reads the whole table in the list's order.
        return queryset.filter(pk__in=found.values("pk"))


class TroubleFilter(admin.SimpleListFilter):
    """A filter by trouble that another call does not end; each is a line of "Needs attention"."""

    title = gettext_lazy("trouble")
    parameter_name = "trouble"
    unknown, contradicted, unreadable = "unknown", "contradicted", "unreadable"
    unrecorded, open_for_long, lapsed = "unrecorded", "open", "lapsed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the kinds."""
        return [
            (self.unknown, _("Said to be paid, not known")),
            (self.contradicted, _("Called paid, not confirmed")),
            (self.unreadable, _("Answer cannot be read")),
            (self.unrecorded, _("Answer could not be saved")),
            (self.open_for_long, _("Open for more than 30 days")),
            (self.lapsed, _("Given up lately")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Filter the list to one kind."""
        kinds = {
            self.unknown: unknown,
            self.contradicted: contradicted,
            self.unreadable: unreadable,
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
    """A filter by payment page: those that were paid lately, then the newest on sale.

    The chosen page is always among them. For any other, follow the link to its payments from the
    page's own form. "No page" selects payments that belong to none.
    """

    title = gettext_lazy("payment page")
    parameter_name = "page__id__exact"
    template = "admin/payments_pages/page_filter.html"
    none = "none"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the pages; two queries, one more for names of pages that are not the newest."""
        newest = PaymentPage.objects.filter(active=True).order_by("-pk")
        names = dict(newest.values_list("pk", "name")[: OPTIONS - 2])
        pages = list(dict.fromkeys([*_paid_lately(), *names]))
        self.is_cut = len(pages) > OPTIONS - 3
        pages = pages[: OPTIONS - 3]
        chosen = parse_id(self.value() or "")
        if chosen is not None and chosen not in pages:
            pages.append(chosen)
        if missing := [page for page in pages if page not in names]:
            rows = PaymentPage.objects.filter(pk__in=missing)
            names.update(rows.values_list("pk", "name"))
        offered = [(str(page), names[page]) for page in pages if page in names]
        return [*offered, (self.none, _("No page"))]

    def has_output(self) -> bool:
        """Show the filter even without pages: "no page" is a choice."""
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Filter the list to the page; a text that is not an id finds nothing."""
        chosen = self.value()
        return None if chosen is None else queryset.filter(self.condition(chosen))

    @classmethod
    def condition(cls, chosen: str | None) -> Q:
        """Return what payments of the chosen page have; all have it without a choice."""
        if chosen is None:
            return Q()
        if chosen == cls.none:
            return Q(page__isnull=True)
        page = parse_id(chosen)
        return Q(pk__in=[]) if page is None else Q(page_id=page)


def _paid_lately() -> list[int]:
    """Return the pages of the newest payments, the one with the most first.

    Of a limited number of payments: to count those of a month would read as many rows.
    """
    newest = Transaction.objects.order_by("-pk").values_list("page_id", flat=True)[:NEWEST]
    counted = Counter(page for page in newest if page is not None)
    return [page for page, _count in counted.most_common(OPTIONS)]
