"""Take the guards out of the package's own path: the checker must notice what gets through.

What is left is the same path; only its compare-and-set statements no longer compare, and a lease
keeps nobody away. What is read as delivered stays delivered. A run that is green under this could
not have seen the guards fail.
"""

from collections.abc import Mapping
from types import ModuleType

from django.db.models import BigAutoField, F, IntegerField

from payments_pages.choices import FulfilmentState, Reason
from payments_pages.conf import conf
from payments_pages.confirmation import delivery
from payments_pages.db import Update, UtcNow, from_now
from payments_pages.models import Fulfilment, FulfilmentQuerySet

__all__ = ["GUARDS", "take_guards_away"]

_COMPLETE_ANYHOW = Update(
    lambda pk, attempt: (
        Fulfilment.objects.filter(pk=pk),
        {
            "state": FulfilmentState.DELIVERED,
            # A later check whether this attempt has delivered then says that it has.
            "attempts": attempt,
            "reason": Reason.NONE,
            "delivered_at": UtcNow(),
            "next_at": None,
            "last_error": "",
        },
    ),
    pk=BigAutoField(),
    attempt=IntegerField(),
)


def take_guards_away() -> None:
    """Let every claim win and every completion count, in this process."""
    for (module, name), guard in GUARDS.items():
        if not hasattr(module, name):
            raise AttributeError(f"the path has no guard of the name {name} any more")
        setattr(module, name, guard)


def _is_claimable_anyhow(fulfilment: Fulfilment, *, due: bool) -> bool:
    return fulfilment.state in FulfilmentQuerySet.open_states


def _claim_anyhow(fulfilment: Fulfilment) -> bool:
    Fulfilment.objects.primary().filter(pk=fulfilment.pk).update(
        state=FulfilmentState.DELIVERING,
        attempts=F("attempts") + 1,
        next_at=from_now(conf.lease),
    )
    fulfilment.attempts += 1
    fulfilment.state = FulfilmentState.DELIVERING
    return True


GUARDS: Mapping[tuple[ModuleType, str], object] = {
    (delivery, "is_claimable"): _is_claimable_anyhow,
    (delivery, "claim"): _claim_anyhow,
    (delivery, "COMPLETE_FULFILMENT"): _COMPLETE_ANYHOW,
}
"""The replacement of each guard, by the module that uses the guard and its name there."""
