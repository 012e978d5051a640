"""Decide when the service is asked about a reference again, if no door asks before.

All ages are taken by the database's clock, in the UPDATE that ends an ask: a web server's wrong
clock can neither give a reference up early nor keep it for ever.
"""

import datetime as dt
import random

from django.db.models import Case, DateTimeField, F, Q, Value, When
from django.db.models.expressions import CombinedExpression

from payments_pages.choices import VerificationState
from payments_pages.db import from_now

__all__ = ["OPEN_EVERY", "THEN_EVERY", "again", "named_meanwhile", "soon"]

SPACE = 2
"""Seconds that two asks are apart at least."""
SCHEDULE = (5, 30, 120, 600, 3600)
"""Seconds between the asks, counted from when somebody last named the reference."""
THEN_EVERY = 6 * 3600
"""Seconds between the asks after those."""
OPEN_EVERY = 12 * 3600
"""Seconds between the asks about what is still open after three days: at least one a day, with
the spread and a few sweeps a day."""
LAPSES_AFTER = 72 * 3600
SIGNED_EVERY = 30
"""Seconds between the asks while a signed success is not confirmed: the next sweep must see it."""
SIGNED_LATER = 3600
"""Seconds between those asks once the last message is older than `LAPSES_AFTER`."""


def soon(*, at_least: float = 0) -> CombinedExpression:
    """Return a moment some seconds from now, not before the service said it may be asked."""
    return _after(SCHEDULE[0], at_least)


def named_meanwhile() -> Q:
    """Select rows that somebody trusted has named since the last ask began."""
    return Q(named_attempt__gte=F("attempts"))


def again(
    state: VerificationState,
    *,
    at_least: float = 0,
    later: float | None = None,
    confirmed: bool = False,
) -> dict[str, Case]:
    """Return a row's next state and time, as expressions for the UPDATE that ends an ask.

    - Named by somebody trusted since the ask began: due in seconds.
    - Named by a signed success, which this answer does not confirm: due every half minute, after
      three days every hour, and never given up. `confirmed` says that the answer fits it.
    - Else by the time since the reference was last named: `SCHEDULE`, then every six hours.
    - After three days every `later` seconds; None gives it up (`LAPSED`).

    `at_least` is the least number of seconds that the service asked us to wait.
    """
    due = Value(VerificationState.DUE)
    times = [When(named_meanwhile(), then=soon(at_least=at_least))]
    states = [When(named_meanwhile(), then=due)]
    if not confirmed:
        signed = Q(signed_success_at__isnull=False)
        for_now = Q(signed, _named_within(LAPSES_AFTER))
        times.append(When(for_now, then=_after(SIGNED_EVERY, at_least)))
        times.append(When(signed, then=_after(SIGNED_LATER, at_least)))
        states.append(When(signed, then=due))
    end = 0.0
    for step in SCHEDULE:
        end += step
        left = end - max(SPACE, at_least)
        if left > 0:
            then = F("named_at") + dt.timedelta(seconds=end + step * random.uniform(0, 0.5))  # noqa: S311 - spreads load, guards nothing
            times.append(When(_named_within(left), then=then))
    times.append(When(_named_within(LAPSES_AFTER), then=_after(THEN_EVERY, at_least)))
    if later is None:
        states.append(When(_named_within(LAPSES_AFTER), then=Value(state)))
        state = VerificationState.LAPSED
    last = Value(None) if later is None else _after(later, at_least)
    return {
        "next_at": Case(*times, default=last, output_field=DateTimeField(null=True)),
        "state": Case(*states, default=Value(state)),
    }


def _named_within(seconds: float) -> Q:
    return Q(named_at__gt=from_now(-seconds))


def _after(seconds: float, at_least: float) -> CombinedExpression:
    return from_now(max(seconds, at_least) * random.uniform(1.0, 1.5))  # noqa: S311 - spreads load, guards nothing
