"""Let time pass and the sweep run, without sleeping."""

import datetime as dt

from django.db.models import F

from payments_pages.client.factory import GATES
from payments_pages.client.resilience import BREAKER_PAUSE
from payments_pages.confirmation.background import SweepReport, sweep_due
from payments_pages.db.transient import tried_again
from payments_pages.models import Fulfilment, Verification, primary_alias

__all__ = ["let_time_pass", "run_sweep"]


def let_time_pass(seconds: float) -> None:
    """Move the times of every waiting row back, as if that many seconds had gone by.

    Leases run out, what is to be tried later comes due, and a breaker lets a call through again.
    """
    gone = dt.timedelta(seconds=seconds)
    asks = Verification.objects.using(primary_alias(Verification))
    deliveries = Fulfilment.objects.using(primary_alias(Fulfilment))
    moves = (
        lambda _number: asks.update(
            next_at=F("next_at") - gone,
            asked_at=F("asked_at") - gone,
            created_at=F("created_at") - gone,
            named_at=F("named_at") - gone,
            signed_success_at=F("signed_success_at") - gone,
        ),
        lambda _number: deliveries.update(next_at=F("next_at") - gone),
    )
    for move in moves:
        # PostgreSQL at serializable may undo what nobody else has touched.
        tried_again(move, using=primary_alias(Fulfilment))
    if seconds >= BREAKER_PAUSE:
        GATES.forget()


def run_sweep(*, after: float = 0) -> SweepReport:
    """Sweep once, as `payments_pages_sweep` does, `after` so many seconds; return its counts."""
    if after:
        let_time_pass(after)
    return sweep_due()
