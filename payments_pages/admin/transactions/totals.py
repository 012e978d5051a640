"""The totals above the list of payments; each links to the payments that it counts."""

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, QueryDict
from django.utils.safestring import SafeString

from payments_pages.admin.formats import ltr, money
from payments_pages.admin.links import reverse_admin, site_name
from payments_pages.conf import conf
from payments_pages.exceptions import ConfigurationError
from payments_pages.money import format_amount
from payments_pages.staff import DAYS, Currency, Day, Figure, take_totals

__all__ = [
    "HEIGHT",
    "SLOT",
    "WIDTH",
    "WINDOWS",
    "Bar",
    "Cell",
    "Chart",
    "Row",
    "Strip",
    "build_strip",
    "draw",
]

logger = logging.getLogger("payments_pages.totals")

SLOT, GAP, HEIGHT = 10, 2, 48
WIDTH = DAYS * SLOT
"""Units of the drawing's view box; the page scales it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One day: its bar in the chart, and its row in the table.

    Lengths are in the drawing's units. `date` is written 2026-11-27 in every language; `text` is
    the amount without markup, for a tooltip.
    """

    slot: int
    x: int
    y: int
    width: int
    height: int
    day: Day
    date: str
    text: str
    amount: SafeString


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """The bars of one currency, the oldest day first, and the highest of them.

    `code` is a dash if the service named no currency.
    """

    code: str
    bars: tuple[Bar, ...]
    highest: Bar


def draw(currency: Currency) -> Chart:
    """Scale the days to the highest of them; a day with any payment has a visible bar."""
    top = max(day.amount for day in currency.days)
    bars = tuple(_bar(number, day, top, currency.code) for number, day in enumerate(currency.days))
    highest = max(bars, key=lambda bar: bar.day.amount)
    return Chart(code=currency.code or "–", bars=bars, highest=highest)


def _bar(number: int, day: Day, top: int, code: str) -> Bar:
    # Integers only: a template would format a float in the reader's language.
    height = max(1, day.amount * HEIGHT // top) if day.amount > 0 else 0
    text = format_amount(day.amount, code, conf.exponents)
    return Bar(
        slot=number * SLOT,
        x=number * SLOT + GAP // 2,
        y=HEIGHT - height,
        width=SLOT - GAP,
        height=height,
        day=day,
        date=day.date.isoformat(),
        text=text,
        amount=ltr(text),
    )


WINDOWS = (1, 7, 30)
"""Days of each total, today included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One total: a link to the payments of one currency in one window."""

    figure: Figure
    amount: SafeString
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The totals of one currency, and its chart."""

    cells: tuple[Cell, ...]
    chart: Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """All that is shown above the list; `trouble`: the totals could not be computed.

    `days` is the table beside the charts: for each day, the newest first, the bar of every row.
    """

    rows: tuple[Row, ...] = ()
    days: tuple[tuple[Bar, ...], ...] = ()
    mode: str = ""
    zone: str = ""
    trouble: bool = False


def build_strip(request: HttpRequest, *, today: dt.date | None = None) -> Strip:
    """Compute the totals in one query.

    Never raises, so that the list is shown without totals when they fail: a sum may be too large
    for SQLite, the settings incomplete, a replica down.
    """
    try:
        mode = conf.mode
        totals = take_totals(mode, today=today)
    except (ConfigurationError, DatabaseError) as error:
        name = type(error).__name__
        logger.warning("totals.unavailable: %s", name, extra={"error": name})
        return Strip(trouble=True)
    rows = tuple(_row(request, currency, mode) for currency in _in_order(totals))
    days = tuple(zip(*(row.chart.bars for row in rows), strict=True))[::-1]
    return Strip(rows=rows, days=days, mode=mode, zone=settings.TIME_ZONE)


def _in_order(totals: Sequence[Currency]) -> list[Currency]:
    """Sort the currencies of the settings first, in their order there, then the others."""
    known = list(conf.exponents)
    return sorted(
        totals,
        key=lambda currency: (
            known.index(currency.code) if currency.code in known else len(known),
            currency.code,
        ),
    )


def _row(request: HttpRequest, currency: Currency, mode: str) -> Row:
    cells = tuple(_cell(request, currency, currency.last(days), mode) for days in WINDOWS)
    return Row(cells=cells, chart=draw(currency))


def _cell(request: HttpRequest, currency: Currency, figure: Figure, mode: str) -> Cell:
    query = _filters(currency, figure, mode)
    url = reverse_admin(site_name(request), "payments_pages_transaction_changelist")
    return Cell(
        figure=figure,
        amount=money(figure.amount, currency.code),
        url=f"{url}?{query.urlencode()}",
        is_current=_chosen(request) == query.dict(),
    )


def _filters(currency: Currency, figure: Figure, mode: str) -> QueryDict:
    """Return the query of the payments counted; times are written as Django's date filter does."""
    query = QueryDict(mutable=True)
    query["status"] = "success"
    query["domain"] = mode
    if currency.spellings == (currency.code,):
        query["currency"] = currency.code
    else:
        query["currency__in"] = ",".join(currency.spellings)
    query["paid_at__gte"] = str(figure.since)
    query["paid_at__lt"] = str(figure.until)
    return query


def _chosen(request: HttpRequest) -> dict[str, str]:
    """Return the filters of the list as shown now, without page and order."""
    return {key: str(value) for key, value in request.GET.items() if key not in {"p", "o", "all"}}
