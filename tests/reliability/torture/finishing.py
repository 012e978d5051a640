"""Let the sweep finish what a run left behind, then let the payers come back."""

import datetime as dt
import time
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from payments_pages.choices import Door, FulfilmentState
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import Fulfilment, Verification
from tests.reliability.torture.controls import CONTROLS
from tests.reliability.torture.notices import signed
from tests.reliability.torture.plan import Fate, Payment

__all__ = ["Left", "Unheard", "come_back", "finish", "finish_control", "sweep_twice"]

ROUNDS = 12
A_WHILE = dt.timedelta(minutes=10)
A_MINUTE = 1.0
"""Seconds between two sweeps, in the pace of a run: it is sixty times as fast as life."""
OPEN = [FulfilmentState.PENDING, FulfilmentState.DELIVERING, FulfilmentState.FAILED]


@dataclass(frozen=True, slots=True)
class Left:
    """What is left when the sweep has finished: open deliveries' references, and rows' errors."""

    open: list[str]
    errors: int


@dataclass(frozen=True, slots=True)
class Unheard:
    """The references from signed notices that two sweeps did not ask about, with their state; the errors."""

    references: dict[str, str]
    errors: int


def sweep_twice() -> Unheard:
    """Sweep twice, a minute apart, when verify says success of everything that a notice named.

    The promise: that is enough, however old the reference is and whatever it was answered before.
    Asked about is what has a delivery, in whatever state.
    """
    errors = 0
    for _sweep in range(2):
        time.sleep(A_MINUTE)
        errors += sweep_due().errors
    known = set(Fulfilment.objects.values_list("transaction__reference", flat=True))
    states = dict(Verification.objects.values_list("reference", "state"))
    return Unheard(
        {
            reference: f"named by a signed notice, and {states.get(reference, 'forgotten')}"
            " after two sweeps"
            for reference, _outcome in signed()
            if reference not in known
        },
        errors,
    )


def finish() -> Left:
    """Sweep, as time goes by, until nothing that was accepted is open; at most twelve times.

    The database is up by now: an error of a row is one, and so is one that comes out.
    """
    errors = 0
    for number in range(ROUNDS):
        for rows in (Verification.objects.all(), Fulfilment.objects.all()):
            rows.filter(next_at__isnull=False).update(next_at=F("next_at") - A_WHILE)
        Verification.objects.update(asked_at=F("asked_at") - A_WHILE)
        errors += sweep_due().errors
        left = Fulfilment.objects.filter(state__in=OPEN)
        if number and not left.exists():
            break
    return Left(list(left.values_list("transaction__reference", flat=True)), errors)


def come_back(payments: Iterable[Payment], token: str) -> int:
    """Let payers whose payment is not delivered look again; how many there were.

    Some were killed before anybody had noted their reference, others were named by a webhook
    alone, which does not say what they paid for.
    """
    given = set(
        Fulfilment.objects.filter(state=FulfilmentState.DELIVERED).values_list(
            "transaction__reference", flat=True
        )
    )
    count = 0
    for made in payments:
        if made.fate == Fate.MUST and made.reference not in given:
            confirm_payment(made.reference, door=Door.CALLBACK, page_token=UUID(token))
            count += 1
    return count


def finish_control(payments: Iterable[Payment], control: str) -> None:
    """Do for a control what the sweep does for the path: everything once more."""
    for made in payments:
        if made.fate == Fate.MUST:
            CONTROLS[control](made.reference)
