"""Filter lists by words we know, never by asking the table for all it holds.

Django's own filter for such a column runs `SELECT DISTINCT` over the whole table for its choices;
these take them from the interface, our choices and the settings. What is none of them can still
be found: by "other", and by its value in the address.
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
"""At most so many choices are offered (docs/cases.md C66)."""
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
"""The payment statuses that the interface names or that services of its kind are seen to send."""


class WordFilter(admin.FieldListFilter):
    """Filter a text column by known words, and by "other": whatever is none of them.

    Parameters are the column's name, as in `status=success`, or with `__exact`; and
    `status__other=1`. A word from the address that is not offered is shown as it came.
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
        """Return the known words, each with what the reader sees; at most `OPTIONS`."""
        raise NotImplementedError

    def expected_parameters(self) -> list[str | None]:
        """Return the parameters that are this filter's."""
        return [self.parameter, self.exact, self.other]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Narrow the list; "other" by the gaps between the known words, which an index can find."""
        if self.others_asked:
            # Found first, by themselves: else SQLite reads the table in the list's order for them.
            others = queryset.model.objects.using(queryset.db).filter(self._gaps())
            queryset = queryset.filter(pk__in=others.values("pk"))
        if self.chosen is not None and "\0" in self.chosen:
            return queryset.none()  # PostgreSQL refuses to look for one
        return super().queryset(request, queryset)

    def _gaps(self) -> Q:
        """Say "none of the known words" as ranges: `NOT IN` would read the whole table."""
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
        """Yield "all", each known word, a word from the address that is not known, and "other"."""
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
    """Filter by the service's word for a payment, said as the list says it."""

    def words(self) -> Iterable[tuple[str, str]]:
        """Return the statuses seen or documented."""
        return [(word, payment_word(word)) for word in STATUSES]


class CurrencyFilter(WordFilter):
    """Filter by a currency that the settings know."""

    def words(self) -> Iterable[tuple[str, str]]:
        """Return the codes."""
        return [(code, code) for code in sorted(conf.exponents)]


class ModeFilter(WordFilter):
    """Filter by the service's `domain`, shown in the reader's language."""

    def words(self) -> Iterable[tuple[str, str]]:
        """Return test and live."""
        return [(value, str(name)) for value, name in Mode.choices]


class VouchedFilter(admin.SimpleListFilter):
    """Filter what is still asked about by whether somebody we trust named it.

    Of a settled one the service itself has told us, and nobody asks; so the many settled ones
    need not be looked through.
    """

    title = gettext_lazy("vouched for")
    parameter_name = "vouched__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - Django's signature
        """Return yes and no."""
        return [("1", _("Yes, still asked about")), ("0", _("No, still asked about"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:  # noqa: ARG002 - Django's signature
        """Narrow the list to the open ones of that kind."""
        chosen = self.value()
        if chosen is None:
            return None
        rows = Verification.objects.using(queryset.db)
        found = rows.filter(state__in=rows.open_states, vouched=chosen == "1")
        # Found first, by themselves: else SQLite reads the table in the list's order for them.
        return queryset.filter(pk__in=found.values("pk"))


class TroubleFilter(admin.SimpleListFilter):
    """Filter by what the asking itself cannot end: each is a line of "Needs attention"."""

    title = gettext_lazy("trouble")
    parameter_name = "trouble"
    contradicted, unrecorded = "contradicted", "unrecorded"
    open_for_long, lapsed = "open", "lapsed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - Django's signature
        """Return the kinds."""
        return [
            (self.contradicted, _("Called paid, not confirmed")),
            (self.unrecorded, _("Answer could not be saved")),
            (self.open_for_long, _("Open for more than 30 days")),
            (self.lapsed, _("Given up lately")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:  # noqa: ARG002 - Django's signature
        """Narrow the list to one kind."""
        kinds = {
            self.contradicted: contradicted,
            self.unrecorded: unrecorded,
            self.open_for_long: open_for_long,
            self.lapsed: lapsed,
        }
        chosen = kinds.get(self.value() or "")
        if chosen is None:
            return None
        # Found first, by themselves: else SQLite reads the table in the list's order for them.
        return queryset.filter(pk__in=chosen().using(queryset.db).values("pk"))


class PageFilter(admin.SimpleListFilter):
    """Filter by payment page: the newest that are on sale, and the one that is chosen.

    Any other page is reached from its own place, whose link to what it sold carries the same
    parameter. `unattributed` selects what is known to belong to no page.
    """

    title = gettext_lazy("payment page")
    parameter_name = "page__id__exact"
    template = "admin/payments_pages/page_filter.html"
    none = "none"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - Django's signature
        """Return the pages; one query, and one more for a chosen page that is not among them."""
        newest = PaymentPage.objects.filter(active=True).order_by("-pk")
        rows = list(newest.values_list("pk", "name")[: OPTIONS - 2])
        choices = [(str(pk), name) for pk, name in rows[: OPTIONS - 3]]
        self.is_cut = len(rows) > len(choices)
        chosen = self.value()
        if chosen and chosen not in dict(choices) and chosen.isdecimal() and len(chosen) < 19:
            named = PaymentPage.objects.filter(pk=int(chosen)).values_list("name", flat=True)
            choices += [(chosen, name) for name in named]
        return [*choices, (self.none, _("No page"))]

    def has_output(self) -> bool:
        """Show it always: "no page" is a choice too."""
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:  # noqa: ARG002 - Django's signature
        """Narrow the list to the page; what is no number finds nothing."""
        chosen = self.value()
        if chosen is None:
            return None
        if chosen == self.none:
            return queryset.filter(page__isnull=True)
        if not (chosen.isdecimal() and chosen.isascii() and len(chosen) < 19):
            return queryset.none()
        return queryset.filter(page_id=int(chosen))
