"""A filter by days: from one to another, or a period that people often want.

A plain form without a script. It needs no time zone tables of the database, and reads no row for its
choices.
"""

import datetime as dt
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from payments_pages.marks import clean_pasted

__all__ = ["FIRST_YEAR", "LAST_YEAR", "Days", "DaysFilter"]

FIRST_YEAR: Final = 1900
LAST_YEAR: Final = 2999
"""A day outside of these years is a slip of the finger."""
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """Whole days of the reader's time zone, both ends included; None: without that end."""

    first: dt.date | None = None
    last: dt.date | None = None

    def bounds(self) -> tuple[dt.datetime | None, dt.datetime | None]:
        """Return the times from which, and before which."""
        since = None if self.first is None else _midnight(self.first)
        until = None if self.last is None else _midnight(self.last + dt.timedelta(days=1))
        return since, until


class DaysFilter(admin.FieldListFilter):
    """A filter of an indexed DateTimeField by days: `paid_at__from=2026-11-01&paid_at__to=…`.

    Our links to what totals count name times instead, `paid_at__gte` and `paid_at__lt`, since their
    days are those of the project's time zone. Such a period is shown as what it is.

    A text that is no date, or an end before the begin, finds nothing, and `trouble` says why.
    """

    template = "admin/payments_pages/days_filter.html"

    def __init__(self, field: Any, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        path: str = kwargs["field_path"]
        self.since, self.until = f"{path}__gte", f"{path}__lt"
        self.first, self.last = f"{path}__from", f"{path}__to"
        self.trouble = ""
        self.kept: list[tuple[str, str]] = []
        super().__init__(field, request, *args, **kwargs)
        given: dict[str, Any] = self.used_parameters
        self.typed_first = _last_of(given.pop(self.first, None))
        self.typed_last = _last_of(given.pop(self.last, None))
        self.days = Days(first=self._read(self.typed_first), last=self._read(self.typed_last))
        if self.days.first and self.days.last and self.days.first > self.days.last:
            self.trouble = _("The first day is after the last one.")

    def _read(self, text: str) -> dt.date | None:
        day = _parse_day(text)
        if text and day is None:
            self.trouble = _("“%(text)s” is not a date. Write it like 2026-11-27.") % {
                "text": text[:20]
            }
        return day

    def expected_parameters(self) -> list[str | None]:
        """Return the parameters of this filter."""
        return [self.since, self.until, self.first, self.last]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        """Filter the list by the days, and by the times of a link."""
        if self.trouble:
            return queryset.none()
        times = {name: self._time(name) for name in self.used_parameters}
        since, until = self.days.bounds()
        found = queryset.filter(**times)
        if since is not None:
            found = found.filter(**{self.since: since})
        if until is not None:
            found = found.filter(**{self.until: until})
        return found

    def _time(self, name: str) -> dt.datetime:
        """Return the time of a link; a text that is none leads back to the list."""
        time = _parse_time(_last_of(self.used_parameters[name]))
        if time is None:
            raise IncorrectLookupParameters
        return time

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Yield all dates and the periods that people often want; keep the other filters."""
        mine = self.expected_parameters()
        self.kept = [
            (name, value)
            for name, values in changelist.filter_params.items()
            if name not in mine
            for value in (values if isinstance(values, list) else [values])
        ]
        shown = self.typed_first, self.typed_last
        times = bool(self.used_parameters)
        yield {
            "selected": not times and shown == ("", ""),
            "query_string": changelist.get_query_string(remove=mine),
            "display": _("All dates"),
        }
        for name, days in _often_wanted(timezone.localdate()):
            ends = {self.first: str(days.first), self.last: str(days.last)}
            yield {
                "selected": not times and shown == tuple(ends.values()),
                "query_string": changelist.get_query_string(ends, remove=mine),
                "display": name,
            }
        if times:
            yield {
                "selected": True,
                "query_string": changelist.get_query_string(),
                "display": self._times(),
            }

    def _times(self) -> str:
        """Return the times of a link, as text."""
        ends = []
        for name in (self.since, self.until):
            time = _parse_time(_last_of(self.used_parameters.get(name)))
            ends.append("…" if time is None else _shown(time))
        return " – ".join(ends)


def _shown(time: dt.datetime) -> str:
    with suppress(OverflowError):  # the first and the last hours of all: shown as they came
        time = timezone.localtime(time)
    return f"{time:%Y-%m-%d %H:%M}"


def _often_wanted(today: dt.date) -> list[tuple[str, Days]]:
    this_month = today.replace(day=1)
    last_month = this_month - dt.timedelta(days=1)
    return [
        (_("Today"), Days(first=today, last=today)),
        (_("Last 7 days"), Days(first=today - dt.timedelta(days=6), last=today)),
        (_("This month"), Days(first=this_month, last=today)),
        (_("Last month"), Days(first=last_month.replace(day=1), last=last_month)),
    ]


def _last_of(values: Any) -> str:
    """Return the last value of a parameter as text; Django gives a list."""
    if isinstance(values, list | tuple):
        values = values[-1] if values else ""
    return clean_pasted(str(values)) if values is not None else ""


def _parse_day(text: str) -> dt.date | None:
    """Parse 2026-11-27, in the digits of any script."""
    if not _DATE.fullmatch(text):
        return None
    year, month, day = (int(part) for part in text.split("-"))
    try:
        return dt.date(year, month, day) if FIRST_YEAR <= year <= LAST_YEAR else None
    except ValueError:
        return None


def _midnight(day: dt.date) -> dt.datetime:
    """Return when a day begins in the reader's time zone, even if its midnight is skipped."""
    return dt.datetime.combine(day, dt.time(), timezone.get_current_timezone())


def _parse_time(text: str) -> dt.datetime | None:
    """Parse a time in the URL, or a day, which is its first moment; None if it cannot be parsed."""
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    if found is None or timezone.is_aware(found):
        return found
    return timezone.make_aware(found)
