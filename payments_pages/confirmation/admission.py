"""Decide whether a reference may cost a call to the service now, or must wait for the sweep.

References that somebody vouched for are always let in: a signed webhook, staff, the merchant's
own code or an expected payment named them, or the service knew them before. So are callers
without an address, which are the merchant's own code. For all others there are budgets.
"""

import random
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from payments_pages.choices import Door
from payments_pages.confirmation import budgets, inbox
from payments_pages.confirmation.due import make_room
from payments_pages.exceptions import NotAsked, ServiceError
from payments_pages.models import ExpectedPayment

__all__ = ["MAX_WAITING", "RETRY_AFTER", "Admission", "admit", "admit_swept", "put_off"]

MAX_WAITING: Final = 10_000
"""References nobody vouched for or asked about that wait for the sweep; then one makes room."""
TRIMMED_EVERY: Final = 100
"""So many references, on average, are noted before it is looked how many wait."""
RETRY_AFTER: Final = 60
"""Seconds after which one who was put off may ask again: budgets are given by the minute."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Hold what an ask is charged to, should the service not know the reference."""

    counters: tuple[str, ...] = ()

    def close(self, error: ServiceError) -> None:
        """Charge an ask that was made and brought no answer to go by."""
        if not isinstance(error, NotAsked):
            self.charge()

    def charge(self) -> None:
        """Charge an ask about a reference that the service does not know."""
        budgets.charge(self.counters)


def admit(key: str, *, address: str, vouched: bool) -> Admission | None:
    """Let an ask about a reference key in, or return None: its budget is used up.

    That of the address is asked for first, so that one address cannot use up that of all.
    """
    if vouched or not address:
        return Admission()
    counters = budgets.room_for(address)
    if counters is not None:
        return Admission(counters)
    # Asked only now: most references are within the budget, and need no query for this.
    if ExpectedPayment.objects.primary().filter(reference_key=key).exists():
        return Admission()
    return None


def admit_swept() -> Admission | None:
    """Let the sweep ask about a reference nobody vouched for; None: it has asked about enough."""
    counters = budgets.room_in_sweep()
    return None if counters is None else Admission(counters)


def put_off(reference: str, key: str, door: Door, page_claim: UUID | None, address: str) -> bool:
    """Note a reference for the sweep without asking; False when its network had too many noted.

    Nothing is lost by that: who was put off may come again. When too many wait, the least likely
    payer's reference is forgotten for this one.
    """
    counters = budgets.room_to_wait(address)
    if counters is None:
        return False
    inbox.note(reference, key, door=door, page_claim=page_claim, vouched=False)
    budgets.charge(counters)
    # To count them each time would cost more than the row itself.
    if random.random() * MAX_WAITING < TRIMMED_EVERY:  # noqa: S311 - spreads load, guards nothing
        make_room(MAX_WAITING)
    return True
