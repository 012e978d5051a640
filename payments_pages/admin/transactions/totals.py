"""The totals above the list of payments; each links to the payments that it counts."""

import datetime as dt
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.filters import PageFilter
from payments_pages.admin.formats import ltr, money
from payments_pages.admin.links import reverse_admin, site_name
from payments_pages.admin.transactions.filters import MoneyBackFilter
from payments_pages.amounts import amount_text
from payments_pages.choices import Mode
from payments_pages.conf import conf
from payments_pages.exceptions import ConfigurationError
from payments_pages.ids import parse_id
from payments_pages.models import PaymentPage
from payments_pages.staff import (
    DAYS,
    TOLD_AT_MOST,
    Currency,
    Day,
    Figure,
    MoneyBack,
    take_money_back,
    take_totals,
)

__all__ = [
    "HEIGHT",
    "SLOT",
    "WIDTH",
    "WINDOWS",
    "Bar",
    "Cell",
    "Chart",
    "Reversed",
    "Row",
    "Strip",
    "Told",
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
    the amount without markup, for a tooltip. `is_unreadable`: there are payments, and no amount of
    them can be read.
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
    is_unreadable: bool


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
    text = amount_text(day.amount, code)
    is_unreadable = 0 < day.count == day.unreadable
    return Bar(
        slot=number * SLOT,
        x=number * SLOT + GAP // 2,
        y=HEIGHT - height,
        width=SLOT - GAP,
        height=height,
        day=day,
        date=day.date.isoformat(),
        text=_("unreadable") if is_unreadable else text,
        amount=ltr(text),
        is_unreadable=is_unreadable,
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

    @property
    def unreadable(self) -> int:
        """Return how many of its payments have no amount."""
        return self.cells[-1].figure.unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversed:
    """The payments of one currency that were paid in these days and reversed since."""

    code: str
    figure: Figure
    amount: SafeString
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How many payments were refunded in part or disputed, as the service told in these days."""

    count: int
    shown: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The totals and charts above the list; `trouble`: the totals could not be computed.

    - `page` is the name of the page whose payments alone are in it; "" for all.
    - `days` is the table beside the charts: for each day, the newest first, the bar of every row.
    - `reversed` and `told` are about money that went back.
    """

    rows: tuple[Row, ...] = ()
    days: tuple[tuple[Bar, ...], ...] = ()
    reversed: tuple[Reversed, ...] = ()
    told: Told | None = None
    mode: str = ""
    page: str = ""
    zone: str = ""
    trouble: bool = False


def build_strip(request: HttpRequest, *, today: dt.date | None = None) -> Strip:
    """Compute the totals: of the list's page and mode, if it is filtered by them.

    Never raises, so that the list is shown without totals when they fail: a sum may be too large
    for SQLite, the settings incomplete, a replica down.
    """
    try:
        mode = _asked_mode(request) or conf.mode
        page = request.GET.get(PageFilter.parameter_name)
        totals = take_totals(mode, of=PageFilter.condition(page), today=today)
        back = take_money_back(mode, of=PageFilter.condition(page), today=today)
        name = _page_name(page)
    except (ConfigurationError, DatabaseError) as error:
        kind = type(error).__name__
        logger.warning("totals.unavailable: %s", kind, extra={"error": kind})
        return Strip(trouble=True)
    kept = {} if page is None else {PageFilter.parameter_name: page}
    rows = tuple(_row(request, currency, mode, kept) for currency in _in_order(totals))
    days = tuple(zip(*(row.chart.bars for row in rows), strict=True))[::-1]
    return Strip(
        rows=rows,
        days=days,
        reversed=tuple(_reversed(request, back, mode, kept)),
        told=_told(request, back, mode, kept),
        mode=mode,
        page=name,
        zone=settings.TIME_ZONE,
    )


def _asked_mode(request: HttpRequest) -> str:
    """Return the mode that the list is filtered by, if it is one that we know; else ""."""
    asked = request.GET.get("domain") or request.GET.get("domain__exact") or ""
    return asked if asked in Mode.values else ""


def _page_name(asked: str | None) -> str:
    """Return the name of the page that the list is filtered by; "" without one."""
    if asked is None:
        return ""
    if asked == PageFilter.none:
        return _("No page")
    pk = parse_id(asked)
    rows = PaymentPage.objects.filter(pk__in=() if pk is None else (pk,))
    return str(rows.values_list("name", flat=True).first() or "")


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


def _row(request: HttpRequest, currency: Currency, mode: str, kept: Mapping[str, str]) -> Row:
    cells = tuple(_cell(request, currency, currency.last(days), mode, kept) for days in WINDOWS)
    return Row(cells=cells, chart=draw(currency))


def _cell(
    request: HttpRequest, currency: Currency, figure: Figure, mode: str, kept: Mapping[str, str]
) -> Cell:
    query = _filters(currency, figure, mode)
    query.update(kept)
    return Cell(
        figure=figure,
        amount=money(figure.amount, currency.code),
        url=_list_url(request, query),
        is_current=_chosen(request) == query.dict(),
    )


def _reversed(
    request: HttpRequest, back: MoneyBack, mode: str, kept: Mapping[str, str]
) -> Iterator[Reversed]:
    for one in back.reversals:
        query = QueryDict(mutable=True)
        query.update({"status": "reversed", "domain": mode, **kept, **_period(one.figure)})
        query["currency__in"] = ",".join(one.spellings)
        yield Reversed(
            code=one.code or "–",
            figure=one.figure,
            amount=money(one.figure.amount, one.code),
            url=_list_url(request, query),
        )


def _told(request: HttpRequest, back: MoneyBack, mode: str, kept: Mapping[str, str]) -> Told | None:
    if not back.told:
        return None
    query = QueryDict(mutable=True)
    query.update({MoneyBackFilter.parameter_name: MoneyBackFilter.recent})
    query.update({"status": "success", "domain": mode, **kept})
    shown = str(back.told) if back.told <= TOLD_AT_MOST else f"{TOLD_AT_MOST}+"
    return Told(count=back.told, shown=shown, url=_list_url(request, query))


def _list_url(request: HttpRequest, query: QueryDict) -> str:
    url = reverse_admin(site_name(request), "payments_pages_transaction_changelist")
    return f"{url}?{query.urlencode()}"


def _period(figure: Figure) -> dict[str, str]:
    """Return the filter of a figure's time, written as Django's date filter does."""
    return {"paid_at__gte": str(figure.since), "paid_at__lt": str(figure.until)}


def _filters(currency: Currency, figure: Figure, mode: str) -> QueryDict:
    """Return the query of the payments counted."""
    query = QueryDict(mutable=True)
    query["status"] = "success"
    query["domain"] = mode
    if currency.spellings == (currency.code,):
        query["currency"] = currency.code
    else:
        query["currency__in"] = ",".join(currency.spellings)
    query.update(_period(figure))
    return query


def _chosen(request: HttpRequest) -> dict[str, str]:
    """Return the filters of the list as shown now, without page and order."""
    return {key: str(value) for key, value in request.GET.items() if key not in {"p", "o", "all"}}
