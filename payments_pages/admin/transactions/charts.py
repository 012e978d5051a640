"""Draw one currency's days as bars of an SVG.

Time runs from left to right in every language, as the dates below it do (our decision): a chart
that mirrors itself cannot be compared with the service's own, or with a colleague's.
"""

from dataclasses import dataclass

from django.utils.safestring import SafeString

from payments_pages.admin.formats import ltr
from payments_pages.conf import conf
from payments_pages.money import format_amount
from payments_pages.staff.totals import DAYS, Currency, Day

__all__ = ["HEIGHT", "SLOT", "WIDTH", "Bar", "Chart", "draw"]

SLOT = 10
GAP = 2
HEIGHT = 48
WIDTH = DAYS * SLOT
"""The drawing's own units; the page scales it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Be one day: where its bar stands, and its row in the table.

    Lengths are in the drawing's units; `date` is 2026-11-27 in every language, `text` the amount
    without markup, for a tooltip.
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
    """Hold the bars of one currency, the oldest day first, and its best day.

    `code` is a dash where the service named no currency.
    """

    code: str
    bars: tuple[Bar, ...]
    highest: Bar


def draw(currency: Currency) -> Chart:
    """Scale the days to the highest of them; a day with any payment has a bar one can see."""
    top = max(day.amount for day in currency.days)
    bars = tuple(_bar(number, day, top, currency.code) for number, day in enumerate(currency.days))
    highest = max(bars, key=lambda bar: bar.day.amount)
    return Chart(code=currency.code or "–", bars=bars, highest=highest)


def _bar(number: int, day: Day, top: int, code: str) -> Bar:
    # Whole numbers all the way: a template would write a float in the reader's language.
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
