"""The timeline of a reference: our events and the service's own log, in one table."""

import datetime as dt
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.formats import format_time
from payments_pages.choices import Attributed, EventKind, Reason
from payments_pages.client import json_text
from payments_pages.models import Event, Transaction, Verification

__all__ = ["MOST", "Line", "Timeline", "build_timeline"]

MOST = 200
"""Lines of each kind that are shown at most: the newest."""
LONGEST = 300
"""Characters of one line of the service's log that are shown."""
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_YEAR_2200 = 7_258_118_400
_LAST_YEAR = 2200
"""A later start is a mistake; and adding an offset to a date in year 9999 would overflow."""
_ATTEMPT = re.compile(r"attempt (\d+)(?:: (.*))?", re.DOTALL)
HIDDEN = "•••"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line. `at` is for sorting; `time` is shown, and may be an offset only."""

    at: dt.datetime
    time: SafeString | str
    what: str
    by: str
    actor: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The lines, oldest first; `errors` are the lines of deliveries that failed.

    `shortened`: there are older events that are not shown.
    """

    lines: list[Line]
    errors: list[Line]
    shortened: bool


def build_timeline(
    verification: Verification | None,
    transaction: Transaction | None,
    *,
    customers_shown: bool = False,
) -> Timeline:
    """Read the events of a reference; add lines from its rows and from the service's log.

    The log may be any JSON. Without `customers_shown`, what the payer typed is hidden in it.
    """
    source = transaction or verification
    key = source.reference_key if source else ""
    events = Event.objects.primary().filter(reference_key=key).order_by("-pk")
    newest = list(events[: MOST + 1])
    ours = [_line(event) for event in reversed(newest[:MOST])]
    asked = list(_asking_lines(verification)) if verification else []
    theirs = (
        list(_service_lines(transaction, customers_shown=customers_shown)) if transaction else []
    )
    return Timeline(
        lines=sorted([*theirs[-MOST:], *asked, *ours], key=lambda line: line.at),
        errors=[_line(event) for event in reversed(newest[:MOST]) if _is_error(event)],
        shortened=len(newest) > MOST,
    )


def _is_error(event: Event) -> bool:
    """Say whether a delivery failed; the detail of a hold by the policy is no error."""
    held = event.kind == EventKind.HELD and event.detail not in Reason.values
    return event.kind == EventKind.DELIVERY_FAILED or held


def _line(event: Event) -> Line:
    return Line(
        at=event.happened_at,
        time=format_time(event.happened_at),
        what=str(event.get_kind_display()),
        by=str(event.get_door_display()),
        actor=event.actor,
        detail=_detail_of(event),
    )


def _asking_lines(row: Verification) -> Iterator[Line]:
    """Yield when the reference came in, and the last failed call; neither is stored as an event."""
    yield Line(
        at=row.created_at,
        time=format_time(row.created_at),
        what=str(EventKind.RECEIVED.label),
        by=str(row.get_first_door_display()),
    )
    if row.last_error and row.asked_at is not None:
        yield Line(
            at=row.asked_at,
            time=format_time(row.asked_at),
            what=str(EventKind.VERIFICATION_FAILED.label),
            by=_("service"),
            detail=row.last_error,
        )


def _detail_of(event: Event) -> str:
    """Return the stored detail of an event in the reader's language."""
    if event.kind == EventKind.HELD and event.detail in Reason.values:
        return str(Reason(event.detail).label)
    if event.kind == EventKind.ACCEPTED:
        source, *more = event.detail.split(", ")
        known = source in Attributed.values
        words = [str(Attributed(source).label) if known else source]
        return ", ".join(words + [_("overpaid") if word == "overpaid" else word for word in more])
    if match := _ATTEMPT.fullmatch(event.detail):
        words = [_("attempt %(number)s") % {"number": match[1]}]
        return ": ".join(words + [part for part in match.groups()[1:] if part])
    return event.detail


def _service_lines(transaction: Transaction, *, customers_shown: bool) -> Iterator[Line]:
    log: Any = transaction.log
    history = log.get("history") if isinstance(log, Mapping) else None
    if not isinstance(history, list):
        return
    start = _parse_start(log.get("start_time")) or transaction.created_at
    for entry in history:
        told = entry if isinstance(entry, Mapping) else {"message": entry}
        after = _parse_offset(told.get("time"))
        at, time = _time_of(transaction, start, after)
        kind = _shortened(told.get("type"))
        message = _shortened(told.get("message"))
        yield Line(
            at=at,
            time=time,
            what=kind or _("log"),
            by=_("service"),
            detail=HIDDEN if message and kind == "input" and not customers_shown else message,
        )


def _time_of(
    transaction: Transaction, start: dt.datetime | None, after: float | None
) -> tuple[dt.datetime, SafeString | str]:
    """Return the time of a line of the log: to sort by, and to show (or its offset)."""
    offset = dt.timedelta(seconds=after or 0)
    if start is not None and start.year < _LAST_YEAR:
        return start + offset, format_time(start + offset)
    first = transaction.paid_at or transaction.verified_at
    return first, "" if after is None else _("+%(seconds)s s") % {"seconds": round(after)}


def _parse_start(value: Any) -> dt.datetime | None:
    """Parse seconds, or milliseconds, since 1970; None if the result is not before 2200."""
    seconds = _parse_float(value)
    if seconds is not None and seconds > _YEAR_2200:
        seconds /= 1000
    if seconds is None or not 0 < seconds < _YEAR_2200:
        return None
    return _EPOCH + dt.timedelta(seconds=seconds)


def _parse_offset(value: Any) -> float | None:
    """Parse an offset in seconds; None if it is longer than a year, forward or back."""
    seconds = _parse_float(value)
    year = 366 * 24 * 3600
    return seconds if seconds is not None and abs(seconds) < year else None


def _parse_float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _shortened(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json_text(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
