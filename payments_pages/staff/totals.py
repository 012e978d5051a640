"""Sum up what was paid: by currency and by day, never across currencies.

Counted are transactions whose status is exactly `success` now, in this site's mode, on the day
of their `paid_at`. One that was reversed is no success any more and leaves the totals of the day
it was paid on; one without a time is in no day.
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
"""Days that totals reach back, today included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Count and add up the payments of one currency from `since` until just before `until`.

    `amount` is minor units; `unreadable` payments have no amount and are only in `count`.
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
    """Be the figure of one day of the project's time zone."""

    date: dt.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """Hold one currency's last `DAYS` days, the oldest first; `code` is upper case.

    `spellings` are the currency as the service wrote it: our rules are case-blind about it.
    """

    code: str
    spellings: tuple[str, ...]
    days: tuple[Day, ...]

    def last(self, days: int) -> Figure:
        """Sum up the last `days` days, today included."""
        chosen = self.days[-days:]
        total = Figure(since=chosen[0].since, until=chosen[-1].until)
        for day in chosen:
            total += day
        return total


def day_bounds(today: dt.date, days: int = DAYS) -> tuple[dt.datetime, ...]:
    """Return the `days` + 1 moments at which the days up to `today` begin and end.

    Midnights of the project's `TIME_ZONE`. They are made here, not by the database: MariaDB
    without its tables of time zones cannot, and a day in which clocks change has 23 or 25 hours.
    """
    zone = timezone.get_default_timezone()
    dates = (today + dt.timedelta(days=number) for number in range(1 - days, 2))
    return tuple(dt.datetime(date.year, date.month, date.day, tzinfo=zone) for date in dates)


def take_totals(mode: str, *, today: dt.date | None = None) -> tuple[Currency, ...]:
    """Sum up the last `DAYS` days of a mode in one query; a currency without payments is left out.

    The query reads nothing but the index `pp_transaction_totals`.
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
        # Not Count("pk"): the star needs no column, and so no look into the table.
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
    """Build the expression for the number of a row's day, between `low` and `high`.

    It halves the days, so that a row is compared five times instead of up to thirty.
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
    """Give every day a figure; days without payments count 0."""
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
