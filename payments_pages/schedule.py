"""Say when the service is asked about a reference again, if nobody comes back for it before."""

import datetime as dt
import random

from django.db.models.expressions import CombinedExpression
from django.utils import timezone

from payments_pages.choices import VerificationState
from payments_pages.databases import from_now

__all__ = ["again", "soon"]

SCHEDULE = (5, 30, 120, 600, 3600)
"""Seconds between the asks that nobody's coming back makes; then every six hours."""
THEN_EVERY = 6 * 3600
LAPSES_AFTER = dt.timedelta(hours=72)


def soon(*, at_least: float = 0) -> CombinedExpression:
    """Return a moment some seconds from now, not before the service said it may be asked."""
    return from_now(max(SCHEDULE[0], at_least) * _jitter())


def again(
    first_seen: dt.datetime,
    state: VerificationState,
    *,
    at_least: float = 0,
    for_ever: bool = False,
) -> dict[str, object]:
    """Return a row's next state and time: by its age, so that an impatient payer does not slow it.

    After three days it is given up (`LAPSED`), unless it is to be asked about `for_ever`.
    """
    age = (timezone.now() - first_seen).total_seconds()
    if age >= LAPSES_AFTER.total_seconds() and not for_ever:
        return {"state": VerificationState.LAPSED, "next_at": None}
    wait = max(_next_offset(age) - age, SCHEDULE[0], at_least)
    return {"state": state, "next_at": from_now(wait * _jitter())}


def _jitter() -> float:
    return random.uniform(1.0, 1.5)  # noqa: S311 - spreads load, guards nothing


def _next_offset(age: float) -> float:
    """Return the first moment of the schedule, in seconds after the first ask, that is to come."""
    offset = 0.0
    for step in SCHEDULE:
        offset += step
        if offset > age:
            return offset
    return offset + THEN_EVERY * ((age - offset) // THEN_EVERY + 1)
