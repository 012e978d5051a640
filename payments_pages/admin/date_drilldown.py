"""A drill-down of a list by years, months and days that does not read the whole table.

Django's own drill-down truncates the date of every row to find the years, months or days, and
needs the database's time zone tables, which a MariaDB or MySQL server may not have. This one reads
the first and the last time from an index, and offers every period between them, even empty ones.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet, Subquery
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

__all__ = ["FIRST_YEAR", "Choice", "Period", "Periods"]

FIRST_YEAR = 2000
"""Times before it, or after tomorrow, are mistakes of the service: no period is offered."""
ALL = -1
A_DAY = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """All time, a year, a month or a day in the reader's time zone; `start` is its first day."""

    start: dt.date = dt.date.min
    months: int = ALL
    """Its length in months: 12 or 1; `A_DAY` for a day, `ALL` for all time."""

    @property
    def end(self) -> dt.date:
        """Return the first day after it."""
        if self.months == ALL:
            return dt.date.max
        if self.months == A_DAY:
            return self.start + dt.timedelta(days=1)
        years, month = divmod(self.start.month - 1 + self.months, 12)
        return dt.date(self.start.year + years, month + 1, 1)

    @property
    def title(self) -> str:
        """Return it as numbers, the same in every language: 2026, 2026-11, 2026-11-27."""
        if self.months == ALL:
            return _("All dates")
        return self.start.isoformat()[: {12: 4, 1: 7, A_DAY: 10}[self.months]]

    def bounds(self, field: str) -> dict[str, str]:
        """Return the query parameters that select it, as Django's own date filter writes them."""
        if self.months == ALL:
            return {}
        return {
            f"{field}__gte": str(_midnight(self.start)),
            f"{field}__lt": str(_midnight(self.end)),
        }

    def outer(self) -> "Period":
        """Return the period that contains it: of a day the month, of a month the year."""
        if self.months == A_DAY:
            return Period(start=self.start.replace(day=1), months=1)
        if self.months == 1:
            return Period(start=self.start.replace(day=1, month=1), months=12)
        return Period()

    def parts(self, first: dt.date, last: dt.date) -> Iterator["Period"]:
        """Yield the years, months or days it consists of, from `first` to `last` at most."""
        if self.months == A_DAY:
            return
        inner = {ALL: 12, 12: 1, 1: A_DAY}[self.months]
        start = dt.date(first.year, 1, 1) if self.months == ALL else self.start
        while start < self.end and start <= last:
            part = Period(start=start, months=inner)
            if part.end > first:
                yield part
            start = part.end


@dataclass(frozen=True, slots=True)
class Choice:
    """A link to a period; `link` is "" if it is the one shown."""

    title: str
    link: str = ""


class Periods:
    """The period that a list shows, with links to its parts and to the period that contains it.

    `changelist` is Django's; `field` is the name of its indexed DateTimeField. Costs one query.
    """

    def __init__(self, changelist: Any, field: str) -> None:
        self.changelist = changelist
        self.field = field
        self.rows: QuerySet[Any] = changelist.root_queryset
        self.shown = self._shown()

    def back(self) -> Choice | None:
        """Return the link to the period that contains the shown one; None if all time is shown."""
        if self.shown is None:
            return self._choice(Period())
        return None if self.shown == Period() else self._choice(self.shown.outer())

    def choices(self) -> list[Choice]:
        """Return links to the parts of the shown period; a day, or another range, has none."""
        if self.shown is None:
            return [Choice(title) for title in self._range()]
        ends = self._ends()
        if ends is None:
            return []
        shown = _first_choice(*ends) if self.shown == Period() else self.shown
        parts = [self._choice(part) for part in shown.parts(*ends)]
        return parts or [Choice(shown.title)]

    def _choice(self, period: Period) -> Choice:
        link = self.changelist.get_query_string(
            period.bounds(self.field), remove=[f"{self.field}__"]
        )
        return Choice(period.title, link)

    def _ends(self) -> tuple[dt.date, dt.date] | None:
        """Return the days of the first and the last row, from the index; None without rows."""
        sane = {
            f"{self.field}__gte": _midnight(dt.date(FIRST_YEAR, 1, 1)),
            f"{self.field}__lt": timezone.now() + dt.timedelta(days=1),
        }
        rows = self.rows.filter(**sane)
        # Not MIN and MAX in one SELECT: SQLite would read every row.
        first = Subquery(rows.order_by(self.field).values(self.field)[:1])
        found = rows.order_by(f"-{self.field}").annotate(pp_first=first)
        ends = found.values_list("pp_first", self.field).first()
        if ends is None or ends[0] is None:
            return None
        return timezone.localtime(ends[0]).date(), timezone.localtime(ends[1]).date()

    def _shown(self) -> Period | None:
        """Return the period that the query parameters select; None if they select another range."""
        params = self.changelist.params
        given = {name: text for name, text in params.items() if name.startswith(f"{self.field}__")}
        if not given:
            return Period()
        start = _parse_time(given.get(f"{self.field}__gte", ""))
        if start is None:
            return None
        day = timezone.localtime(start).date()
        for months in (12, 1, A_DAY):
            period = Period(start=day, months=months)
            bounds = {name: _parse_time(text) for name, text in given.items()}
            if bounds == {k: _parse_time(v) for k, v in period.bounds(self.field).items()}:
                return period
        return None

    def _range(self) -> list[str]:
        """Return the two ends of a range that is no period, as text."""
        params = self.changelist.params
        since = _parse_time(params.get(f"{self.field}__gte", ""))
        until = _parse_time(params.get(f"{self.field}__lt", ""))
        shown = [
            "…" if end is None else f"{timezone.localtime(end):%Y-%m-%d %H:%M}"
            for end in (since, until)
        ]
        return [" – ".join(shown)] if since or until else []


def _first_choice(first: dt.date, last: dt.date) -> Period:
    """Return the year if all rows are in one year, the month if all are in one month."""
    if first.year != last.year:
        return Period()
    if first.month != last.month:
        return Period(start=dt.date(first.year, 1, 1), months=12)
    return Period(start=first.replace(day=1), months=1)


def _midnight(day: dt.date) -> dt.datetime:
    """Return when a day begins in the reader's time zone, even if its midnight is skipped."""
    return dt.datetime.combine(day, dt.time(), timezone.get_current_timezone())


def _parse_time(text: str) -> dt.datetime | None:
    """Parse a time in the URL as Django's list filter does; None if it cannot be parsed."""
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    if found is None or timezone.is_aware(found):
        return found
    return timezone.make_aware(found)
