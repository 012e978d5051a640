"""Dates in words, as payers read them."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

__all__ = ["in_words"]

# Our own months, because Django's Arabic ones are Egypt's, and because a language may change the
# name of a month after a day. Figures are Latin in each language.
_MONTHS: tuple[Callable[[], str], ...] = (
    lambda: pgettext("date", "%(day)d January %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d February %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d March %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d April %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d May %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d June %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d July %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d August %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d September %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d October %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d November %(year)d, %(time)s"),
    lambda: pgettext("date", "%(day)d December %(year)d, %(time)s"),
)
_PLACES: dict[str, Callable[[], str]] = {
    "Asia/Amman": lambda: _("Amman time"),
    "Asia/Gaza": lambda: _("Gaza time"),
    "Asia/Hebron": lambda: _("Hebron time"),
    "Asia/Jerusalem": lambda: _("Jerusalem time"),
}


def in_words(value: datetime | None) -> str:
    """Return a time as "28 November 2026, 16:39 (Hebron time)" in the site's zone; "" for None.

    Also "" for the last hours of the year 9999, which the service may send, and which the zone may
    not have.

    A zone that has no name here is told by its distance, as "UTC+2". In the hour that a change of
    clocks repeats the distance is told as well: it says which of the two it is (docs/cases.md C63).
    """
    if value is None:
        return ""
    try:
        local = timezone.localtime(value)
    except OverflowError:
        return ""
    date = _MONTHS[local.month - 1]() % {
        "day": local.day,
        "year": local.year,
        "time": f"{local:%H:%M}",
    }
    place = _PLACES.get(timezone.get_current_timezone_name())
    zone = [place()] if place else []
    if place is None or _comes_twice(local):
        zone.append(_distance(local))
    return f"{date} ({', '.join(zone)})"


def _comes_twice(local: datetime) -> bool:
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


def _distance(local: datetime) -> str:
    minutes = int((local.utcoffset() or timedelta()).total_seconds() // 60)
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours}" + (f":{rest:02d}" if rest else "")
