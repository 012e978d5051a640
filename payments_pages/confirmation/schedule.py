"""Decide when the service is asked about a reference again, if no door asks before.

All ages are computed by the database's clock, in the UPDATE that ends an attempt. So the wrong
clock of a web server can neither give up a reference too early nor keep it for ever.
"""

import datetime as dt
import random

from django.db.models import Case, DateTimeField, F, Q, Value, When
from django.db.models.expressions import CombinedExpression

from payments_pages.choices import VerificationState
from payments_pages.db import from_now

__all__ = ["OPEN_EVERY", "THEN_EVERY", "again", "grace_end", "named_meanwhile", "soon"]

SPACE = 2
"""Seconds between two attempts, at least."""
SCHEDULE = (5, 30, 120, 600, 3600)
"""Seconds between the attempts. The first of them begins when somebody last named the reference."""
THEN_EVERY = 6 * 3600
"""Seconds between the later attempts."""
OPEN_EVERY = 12 * 3600
"""Seconds between the attempts about a payment that is still open after three days. With the random
factor, and a few sweeps a day, the service is asked at least once a day."""
LAPSES_AFTER = 72 * 3600
"""Seconds after somebody last named a reference, after which it may be given up."""
SIGNED_EVERY = 30
"""Seconds between the attempts while a signed success is not confirmed, so that each sweep asks."""
SIGNED_LATER = 3600
"""Seconds between those attempts if the reference was last named more than `LAPSES_AFTER` ago."""

GRACE = 600
"""Seconds that a payer has to come back and so say what was paid for, before staff are told that
nothing says it (our decision)."""


def grace_end() -> CombinedExpression:
    """Return the time when staff are told of an unattributed hold that is opened now."""
    return from_now(GRACE)


def soon(*, at_least: float = 0) -> CombinedExpression:
    """Return a time in a few seconds, as an expression; not before `at_least` seconds from now."""
    return _after(SCHEDULE[0], at_least)


def named_meanwhile() -> Q:
    """Return the condition that a trusted caller has named the row since the last attempt began."""
    return Q(named_attempt__gte=F("attempts"))


def again(
    state: VerificationState,
    *,
    at_least: float = 0,
    later: float | None = None,
    confirmed: bool = False,
) -> dict[str, Case]:
    """Return a row's next state and time, as expressions for the UPDATE that ends an attempt.

    The first case that fits decides:

    - A trusted caller has named the reference since the attempt began: due in seconds.
    - A signed message says that it is paid, and the answer does not confirm this (`confirmed` is
      false): due every half minute, after three days every hour, and never given up.
    - It was last named less than three days ago: due by `SCHEDULE`, then every six hours.
    - It was last named earlier: due every `later` seconds, or given up (`LAPSED`) if that is None.

    `at_least`: the seconds that the service asked us to wait.
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
