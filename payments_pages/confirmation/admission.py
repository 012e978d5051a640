"""Decide whether a reference may cost a call to the service now, or must wait for the sweep.

References that somebody vouched for are always let in: a signed webhook, staff, the merchant's
own code or an expected payment named them, or the service knew them before. So are callers
without an address, which are the merchant's own code. For all others there are budgets.
"""

import ipaddress
import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import time
from typing import Final, TypeVar
from uuid import UUID

from django.core.cache import caches
from django.utils.crypto import salted_hmac

from payments_pages.choices import Door
from payments_pages.conf import conf
from payments_pages.confirmation import inbox
from payments_pages.confirmation.due import make_room
from payments_pages.exceptions import NotAsked, ServiceError
from payments_pages.models import ExpectedPayment

__all__ = [
    "MAX_WAITING",
    "RETRY_AFTER",
    "WINDOW",
    "Admission",
    "admit",
    "admit_swept",
    "charge",
    "put_off",
    "room_for",
    "room_in_sweep",
    "room_to_wait",
]

logger = logging.getLogger("payments_pages.budgets")


WINDOW: Final = 60
"""Seconds for which a budget is given."""


NOTED_PER_ASK: Final = 5
"""So many times what it may ask about may a network have noted for the sweep."""


PREFIX: Final = "payments_pages.unknown"


T = TypeVar("T")


def room_for(address: str) -> tuple[str, ...] | None:
    """Return the counters to charge for an address, its own and that of all; None: one is full.

    The counters' names hold the address only as a keyed hash; of an IPv6 address its first 64
    bits count, for those are what one subscriber has.
    """
    return _room((_name(address), conf.unknown_per_address), ("all", conf.unknown_in_all))


def room_to_wait(address: str) -> tuple[str, ...] | None:
    """Return the counter of what an address has noted for the sweep, by the same names."""
    return _room((f"noted.{_name(address)}", NOTED_PER_ASK * conf.unknown_per_address))


def room_in_sweep() -> tuple[str, ...] | None:
    """Return the counter that all sweeps share, which takes as much as that of all doors."""
    return _room(("sweep", conf.unknown_in_all))


def charge(counters: tuple[str, ...]) -> None:
    """Count one ask about what the service does not know, or of which nobody knows that."""
    for counter in counters:
        _guarded(partial(_count, counter), None)


def _room(*budgets: tuple[str, int]) -> tuple[str, ...] | None:
    window = int(time() // WINDOW)
    limits = {f"{PREFIX}.{window}.{name}": limit for name, limit in budgets}
    counts: Mapping[str, int] = _guarded(lambda: caches[conf.cache].get_many(limits), {})
    if any(count >= limits[counter] for counter, count in counts.items()):
        return None
    return tuple(limits)


def _count(counter: str) -> None:
    cache = caches[conf.cache]
    cache.add(counter, 0, timeout=2 * WINDOW)
    cache.incr(counter)


def _guarded(use: Callable[[], T], otherwise: T) -> T:
    """Use the cache; `otherwise` when it cannot be used."""
    try:
        return use()
    except Exception as error:  # noqa: BLE001 - each cache raises its own; none may stop a payer
        kind = type(error).__name__
        logger.warning("budgets.cache_failed: %s", kind, extra={"error": kind})
        return otherwise


def _name(address: str) -> str:
    return salted_hmac(PREFIX, _network(address), algorithm="sha256").hexdigest()


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address.strip())
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, 64), strict=False))


MAX_WAITING: Final = 10_000
"""References nobody vouched for or asked about that wait for the sweep; then one makes room."""


TRIMMED_EVERY: Final = 100
"""So many references, on average, are noted before it is looked how many wait."""


RETRY_AFTER: Final = 60
"""Seconds after which one who was put off may ask again: budgets are given by the minute."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The counters that are charged if the service does not know the reference."""

    counters: tuple[str, ...] = ()

    def close(self, error: ServiceError) -> None:
        """Charge an ask that was made and brought no answer to go by."""
        if not isinstance(error, NotAsked):
            self.charge()

    def charge(self) -> None:
        """Charge an ask about a reference that the service does not know."""
        charge(self.counters)


def admit(key: str, *, client_ip: str, vouched: bool) -> Admission | None:
    """Let an ask about a reference key in, or return None: its budget is used up.

    The address's own budget is asked first, so that one address cannot use up the budget of all.
    """
    if vouched or not client_ip:
        return Admission()
    counters = room_for(client_ip)
    if counters is not None:
        return Admission(counters)
    # Asked only now: most references are within the budget, and need no query for this.
    if ExpectedPayment.objects.primary().filter(reference_key=key).exists():
        return Admission()
    return None


def admit_swept() -> Admission | None:
    """Let the sweep ask about a reference nobody vouched for; None: it has asked about enough."""
    counters = room_in_sweep()
    return None if counters is None else Admission(counters)


def put_off(reference: str, key: str, door: Door, page_claim: UUID | None, client_ip: str) -> bool:
    """Leave a reference to the sweep without asking, unless its network has left too many (False).

    Nothing is lost: the payer may come again. When too many references wait, the one that is
    least likely a payer's is forgotten in place of this one.
    """
    counters = room_to_wait(client_ip)
    if counters is None:
        return False
    inbox.remember(reference, key, door=door, page_claim=page_claim, vouched=False)
    charge(counters)
    # To count them each time would cost more than the row itself.
    if random.random() * MAX_WAITING < TRIMMED_EVERY:  # noqa: S311 - spreads load, guards nothing
        make_room(MAX_WAITING)
    return True
