"""Totals of what was paid, by currency and by day, never across currencies.

A transaction counts on the day of its `paid_at` if its status is exactly `success` now and its mode
is this site's. A reversed one no longer counts on the day it was paid; one without a time never.
Money that went back is told beside the totals (`take_money_back`), and never taken off in silence.

What days that are over came to is kept (`kept_days`), so that a view sums up two days of thirty.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Sum, Value, When
from django.db.models.expressions import Combinable
from django.utils import timezone

from payments_pages.choices import Mode
from payments_pages.models import Fulfilment, KeptDay, Transaction
from payments_pages.money import fold_currency

__all__ = [
    "DAYS",
    "TOLD_AT_MOST",
    "Currency",
    "Day",
    "DaySum",
    "Figure",
    "MoneyBack",
    "Sums",
    "add_up",
    "day_bounds",
    "in_utc",
    "sum_days",
    "take_money_back",
    "take_totals",
    "told_of_money_back",
]

DAYS = 30
"""Days that the totals cover, today included."""


TOLD_AT_MOST = 100
"""Refunds and disputes that are counted; one more stands for any number."""


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


def day_bounds(today: dt.date | None = None, days: int = DAYS) -> tuple[dt.datetime, ...]:
    """Return the `days` + 1 times at which the days up to `today` begin and end.

    Midnights in the project's `TIME_ZONE`, whatever the reader's is; by default `today` is the day
    there. They are computed here, since MariaDB cannot without its time zone tables, and a day on
    which clocks change has 23 or 25 hours.
    """
    zone = timezone.get_default_timezone()
    today = today or timezone.localdate(timezone=zone)
    dates = (today + dt.timedelta(days=number) for number in range(1 - days, 2))
    return tuple(dt.datetime(date.year, date.month, date.day, tzinfo=zone) for date in dates)


def in_utc(bounds: Iterable[dt.datetime]) -> tuple[dt.datetime, ...]:
    """Return the same times in UTC, as the database gives them.

    For Python a midnight that is skipped in its own zone equals no time of another zone.
    """
    return tuple(bound.astimezone(dt.UTC) for bound in bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySum:
    """What the payments of one day and one currency, as it is written, come to."""

    day: int
    currency: str
    count: int
    amount: int
    unreadable: int


def take_totals(
    mode: str, *, of: Q | None = None, today: dt.date | None = None
) -> tuple[Currency, ...]:
    """Return the totals of the last `DAYS` days of a mode, by currency.

    `of` leaves only some of the payments, such as those of one page. A currency without payments is
    left out. Without `of` there are two queries: days that are kept are not summed up again, and of
    the others only the index `pp_transaction_totals` is read.
    """
    bounds = day_bounds(today)
    kept = _read_kept(mode, bounds) if of is None else {}
    found = [one for sums in kept.values() for one in sums]
    left = [day for day in range(len(bounds) - 1) if day not in kept]
    found += sum_days(Transaction.objects.filter(of or Q()), mode, bounds, left)
    return tuple(
        Currency(code=code, spellings=spellings, days=_fill(bounds, days))
        for code, spellings, days in _by_currency(found, bounds)
    )


def _by_currency(
    sums: Iterable[DaySum], bounds: Sequence[dt.datetime]
) -> list[tuple[str, tuple[str, ...], dict[int, Figure]]]:
    """Return code, spellings and the figure of each day, by currency, whatever its letters' case."""
    figures: dict[str, dict[int, Figure]] = {}
    spellings: dict[str, set[str]] = {}
    for one in sums:
        figure = Figure(
            since=bounds[one.day],
            until=bounds[one.day + 1],
            count=one.count,
            amount=one.amount,
            unreadable=one.unreadable,
        )
        code = fold_currency(one.currency)
        spellings.setdefault(code, set()).add(one.currency)
        days = figures.setdefault(code, {})
        days[one.day] = days[one.day] + figure if one.day in days else figure
    return [(code, tuple(sorted(spellings[code])), days) for code, days in sorted(figures.items())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversals:
    """The payments of one currency that were paid in the days of the totals and reversed since."""

    code: str
    spellings: tuple[str, ...]
    figure: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneyBack:
    """The money of one mode that went back.

    - `reversals`: by currency; none of them is in the totals.
    - `told`: how many payments the service has told of a refund in part or a dispute of since then,
      `TOLD_AT_MOST` + 1 at most. They are in the totals with their whole amount: what went back of it
      the service does not say.
    """

    reversals: tuple[Reversals, ...]
    told: int


def take_money_back(mode: str, *, of: Q | None = None, today: dt.date | None = None) -> MoneyBack:
    """Return what went back, of all payments of a mode or some (`of`), in two small queries."""
    bounds = day_bounds(today)
    whole = bounds[0], bounds[-1]
    rows = Transaction.objects.filter(of or Q())
    sums = sum_days(rows, mode, whole, (0,), status="reversed")
    reversals = tuple(
        Reversals(code=code, spellings=spellings, figure=days[0])
        for code, spellings, days in _by_currency(sums, whole)
    )
    told = rows.filter(told_of_money_back(whole[0]), domain=mode, status="success")
    return MoneyBack(reversals=reversals, told=told.order_by()[: TOLD_AT_MOST + 1].count())


def told_of_money_back(since: dt.datetime) -> Q:
    """Return the condition for a payment of which the service told such a thing since a time."""
    return Q(fulfilment__in=Fulfilment.objects.told_since(since))


def sum_days(
    rows: QuerySet[Transaction],
    mode: str,
    bounds: Sequence[dt.datetime],
    days: Sequence[int],
    *,
    status: str = "success",
) -> list[DaySum]:
    """Sum up some of the days that `bounds` divide, by currency, in one query; none without days.

    `days` are their numbers in `bounds`, in order.
    """
    if not days:
        return []
    rows = rows.filter(
        # The whole of it by itself, for an index to begin with.
        status=status,
        domain=mode,
        paid_at__gte=bounds[days[0]],
        paid_at__lt=bounds[days[-1] + 1],
    )
    if len(days) <= days[-1] - days[0]:
        rows = rows.filter(_any_of(bounds, days))
    found = (
        rows.annotate(day=_day_number(bounds, days[0], days[-1] + 1))
        .order_by()
        .values_list("currency", "day")
        # Not Count("pk"): the star needs no column, so the index is enough.
        .annotate(payments=Count("*"), readable=Count("amount"), total=Sum("amount"))
    )
    return [
        DaySum(
            day=day,
            currency=currency,
            count=payments,
            amount=int(total or 0),
            unreadable=payments - readable,
        )
        for currency, day, payments, readable, total in found
    ]


def _any_of(bounds: Sequence[dt.datetime], days: Sequence[int]) -> Q:
    """Return the condition for a time in one of the days; days side by side are one range."""
    found = Q()
    for _gap, run in groupby(enumerate(days), key=lambda pair: pair[1] - pair[0]):
        numbers = [day for _place, day in run]
        found |= Q(paid_at__gte=bounds[numbers[0]], paid_at__lt=bounds[numbers[-1] + 1])
    return found


def _read_kept(mode: str, bounds: Sequence[dt.datetime]) -> dict[int, list[DaySum]]:
    """Return the sums of the days that are kept and stand, by the day's number in `bounds`."""
    numbers = {pair: number for number, pair in enumerate(pairwise(in_utc(bounds)))}
    rows = KeptDay.objects.standing().filter(
        domain=mode, since__gte=bounds[0], until__lte=bounds[-1]
    )
    return {
        numbers[since, until]: [
            DaySum(
                day=numbers[since, until],
                currency=currency,
                count=one["count"],
                amount=int(one["amount"]),
                unreadable=one["unreadable"],
            )
            for currency, one in sums.items()
        ]
        for since, until, sums in rows.values_list("since", "until", "sums")
        if (since, until) in numbers  # else made in another time zone
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What some payments come to, in minor units by (mode, currency); only those of `success`.

    `counted` of them are in the sums. `left_out` have an amount that cannot be read, or a mode or a
    currency that is not known here.
    """

    amounts: Mapping[tuple[str, str], int]
    counted: int
    left_out: int


def add_up(rows: QuerySet[Transaction], currencies: Iterable[str], *, most: int) -> Sums:
    """Add up the first `most` of some payments, in one query that reads them in their own order."""
    known = Q(amount__isnull=False)
    asked: dict[str, Sum | Count] = {}
    names: dict[str, tuple[str, str]] = {}
    any_of = Q()
    for mode in Mode.values:
        for code in currencies:
            these = Q(domain=mode, currency__in=(code, code.lower()))
            name = f"sum_{len(names)}"
            names[name] = mode, code
            asked[name] = Sum("amount", filter=these & Q(status="success"))
            any_of |= these
    asked["paid"] = Count("pk", filter=Q(status="success"))
    asked["counted"] = Count("pk", filter=Q(status="success") & known & any_of)
    # Of the limited rows: the statement is the list's own, whose order an index serves.
    found = rows[:most].aggregate(**asked)
    return Sums(
        amounts={key: found[name] for name, key in names.items() if found[name] is not None},
        counted=found["counted"],
        left_out=found["paid"] - found["counted"],
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
