"""Totals of what was paid, by currency and by day, never across currencies.

A transaction counts on the day of its `paid_at` if its status is exactly `success` now and its mode
is this site's. A reversed one no longer counts on the day it was paid; one without a time never.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db.models import Case, Count, IntegerField, Sum, Value, When
from django.db.models.expressions import Combinable
from django.utils import timezone

from payments_pages.models import Transaction

__all__ = ["DAYS", "Currency", "Day", "Figure", "day_bounds", "take_totals"]

DAYS = 30
"""Days that the totals cover, today included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The payments of one currency with `since` <= time < `until`.

    `amount` is minor units. `unreadable` payments have no amount; they are in `count` only.
    """

    since: dt.datetime
    until: dt.datetime
    count: int = 0
    amount: int = 0
    unreadable: int = 0

    def __add__(self, later: "Figure") -> "Figure":
        return Figure(
            since=min(self.since, later.since),
            until=max(self.until, later.until),
            count=self.count + later.count,
            amount=self.amount + later.amount,
            unreadable=self.unreadable + later.unreadable,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Day(Figure):
    """The figure of one day in the project's time zone."""

    date: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """The last `DAYS` days of one currency, the oldest first; `code` is upper case.

    `spellings` are the currency as the service wrote it: we compare it without regard to case.
    """

    code: str
    spellings: tuple[str, ...]
    days: tuple[Day, ...]

    def last(self, days: int) -> Figure:
        """Return the total of the last `days` days, today included."""
        chosen = self.days[-days:]
        total = Figure(since=chosen[0].since, until=chosen[-1].until)
        for day in chosen:
            total += day
        return total


def day_bounds(today: dt.date, days: int = DAYS) -> tuple[dt.datetime, ...]:
    """Return the `days` + 1 times at which the days up to `today` begin and end.

    Midnights in the project's `TIME_ZONE`. They are computed here, since MariaDB cannot without its
    time zone tables, and a day on which clocks change has 23 or 25 hours.
    """
    zone = timezone.get_default_timezone()
    dates = (today + dt.timedelta(days=number) for number in range(1 - days, 2))
    return tuple(dt.datetime(date.year, date.month, date.day, tzinfo=zone) for date in dates)


def take_totals(mode: str, *, today: dt.date | None = None) -> tuple[Currency, ...]:
    """Return the totals of the last `DAYS` days of a mode, by currency, in one query.

    A currency without payments is left out. The query reads only the index
    `pp_transaction_totals`.
    """
    today = today or timezone.localdate(timezone=timezone.get_default_timezone())
    bounds = day_bounds(today)
    rows = (
        Transaction.objects.filter(
            status="success", domain=mode, paid_at__gte=bounds[0], paid_at__lt=bounds[-1]
        )
        .annotate(day=_day_number(bounds, 0, len(bounds) - 1))
        .order_by()
        .values_list("currency", "day")
        # Not Count("pk"): the star needs no column, so the index is enough.
        .annotate(payments=Count("*"), readable=Count("amount"), total=Sum("amount"))
    )
    found: dict[str, dict[int, Figure]] = {}
    spellings: dict[str, set[str]] = {}
    for currency, day, payments, readable, total in rows:
        figure = Figure(
            since=bounds[day],
            until=bounds[day + 1],
            count=payments,
            amount=total or 0,
            unreadable=payments - readable,
        )
        code = currency.upper()
        spellings.setdefault(code, set()).add(currency)
        days = found.setdefault(code, {})
        days[day] = days[day] + figure if day in days else figure
    return tuple(
        Currency(code=code, spellings=tuple(sorted(spellings[code])), days=_fill(bounds, days))
        for code, days in sorted(found.items())
    )


def _day_number(bounds: Sequence[dt.datetime], low: int, high: int) -> Combinable:
    """Return the expression for the number of a row's day, from `low` to `high` - 1.

    A binary search: each row needs five comparisons instead of up to thirty.
    """
    if high - low == 1:
        return Value(low)
    middle = (low + high) // 2
    return Case(
        When(paid_at__lt=bounds[middle], then=_day_number(bounds, low, middle)),
        default=_day_number(bounds, middle, high),
        output_field=IntegerField(),
    )


def _fill(bounds: Sequence[dt.datetime], found: Mapping[int, Figure]) -> tuple[Day, ...]:
    """Return a figure for every day; 0 for a day without payments."""
    days = []
    for number, (since, until) in enumerate(pairwise(bounds)):
        figure = found.get(number, Figure(since=since, until=until))
        days.append(
            Day(
                date=since.date(),
                since=since,
                until=until,
                count=figure.count,
                amount=figure.amount,
                unreadable=figure.unreadable,
            )
        )
    return tuple(days)
