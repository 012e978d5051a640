"""The timeline of a reference: our events and the service's own log, in one table."""

import datetime as dt
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin.formats import format_time_in_parts
from payments_pages.admin.statuses import payment_word
from payments_pages.choices import Attributed, EventKind, Reason
from payments_pages.client import json_text
from payments_pages.models import Event, Transaction, Verification
from payments_pages.staff import find_sentence, split_class

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
_LOGGED: Final[Mapping[str, object]] = {
    "action": gettext_lazy("payer’s step"),
    "auth": gettext_lazy("bank’s check"),
    "close": gettext_lazy("page closed"),
    "error": gettext_lazy("error"),
    "input": gettext_lazy("payer typed"),
    "open": gettext_lazy("page opened"),
    "success": gettext_lazy("success"),
}
"""The kinds of lines that services of this kind are known to log; any other is shown verbatim."""
_MESSAGES: Final[Mapping[str, object]] = {
    "Attempted to pay": gettext_lazy("Attempted to pay"),
    "Attempted to pay with card": gettext_lazy("Attempted to pay with card"),
    "Card accepted": gettext_lazy("Card accepted"),
    "Card details sent": gettext_lazy("Card details sent"),
    "Card refused": gettext_lazy("Card refused"),
    "Opened the page": gettext_lazy("Opened the page"),
    "Sent the card's details": gettext_lazy("Sent the card's details"),
    "Successfully paid with card": gettext_lazy("Successfully paid with card"),
}
"""The messages that such services are known to log; any other is shown verbatim."""
_FAILURES: Final = frozenset(
    {EventKind.DELIVERY_FAILED, EventKind.HELD, EventKind.VERIFICATION_FAILED}
)
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
    """The lines, oldest first; `notes` are those of them that staff wrote as a note.

    `shortened`: there are older events that are not shown.
    """

    lines: list[Line]
    notes: list[Line]
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
        notes=[_line(event) for event in reversed(newest[:MOST]) if event.kind == EventKind.NOTED],
        shortened=len(newest) > MOST,
    )


def _shown(moment: dt.datetime) -> SafeString:
    return format_time_in_parts(moment, zone=True)


def _line(event: Event) -> Line:
    return Line(
        at=event.happened_at,
        time=_shown(event.happened_at),
        what=str(event.get_kind_display()),
        by=str(event.get_door_display()),
        actor=event.actor,
        detail=_detail_of(event),
    )


def _asking_lines(row: Verification) -> Iterator[Line]:
    """Yield when the reference came in, and the last failed call; neither is stored as an event."""
    yield Line(
        at=row.created_at,
        time=_shown(row.created_at),
        what=str(EventKind.RECEIVED.label),
        by=str(row.get_first_door_display()),
    )
    if row.last_error and row.asked_at is not None:
        yield Line(
            at=row.asked_at,
            time=_shown(row.asked_at),
            what=str(EventKind.VERIFICATION_FAILED.label),
            by=_("service"),
            detail=_error_of(row.last_error),
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
    if event.kind == EventKind.STATUS_CHANGED:
        return " → ".join(map(payment_word, event.detail.split(" → ")))
    if event.kind in _FAILURES:
        return _error_of(event.detail)
    if match := _ATTEMPT.fullmatch(event.detail):
        attempt = _("attempt %(number)s") % {"number": match[1]}
        status = payment_word(match[2] or "")
        # The service has answered: what it says is the news, and not how often it was asked.
        return f"{status} ({attempt})" if status else attempt
    return event.detail


def _error_of(stored: str) -> str:
    """Return a stored error: a sentence of ours in the reader's language, its class after it."""
    name, text = split_class(stored)
    sentence = find_sentence(text)
    if sentence is None:
        return stored
    return f"{sentence} ({name})" if name else str(sentence)


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
            what=str(_LOGGED.get(kind, (kind if customers_shown else "") or _("log"))),
            by=_("service"),
            detail=_message(message, customers_shown=customers_shown),
        )


def _message(message: str, *, customers_shown: bool) -> str:
    """Return a message of the log; what is not known may quote the payer, and is hidden."""
    known = _MESSAGES.get(message)
    if known is not None:
        return str(known)
    return message if customers_shown or not message else HIDDEN


def _time_of(
    transaction: Transaction, start: dt.datetime | None, after: float | None
) -> tuple[dt.datetime, SafeString | str]:
    """Return the time of a line of the log: to sort by, and to show (or its offset)."""
    offset = dt.timedelta(seconds=after or 0)
    if start is not None and start.year < _LAST_YEAR:
        return start + offset, _shown(start + offset)
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
