"""Bound how often strangers can make us ask the service about references it does not know.

Anybody can call the callback with made-up references. Each address, and all of them together,
has a budget for a minute. Only what the service does not know is charged, and only when that has
turned out: payers who share an address with many others, or with a guesser, are not counted, and
cost the cache one read. Asks that are under way at the same moment do not see each other's
charge: a rush overdraws a budget by as many calls as may wait on the service at once.

Who is over a budget is noted for the sweep. How many may be is bounded for each address alone,
so that one address cannot push the payers out who wait there, too.

The counters live in a Django cache. A cache that is down stops nobody: the budget is then not
kept, and the log says so.
"""

import ipaddress
import logging
from collections.abc import Callable, Mapping
from functools import partial
from time import time
from typing import Final, TypeVar

from django.core.cache import caches
from django.utils.crypto import salted_hmac

from payments_pages.conf import conf

__all__ = ["WINDOW", "charge", "room_for", "room_in_sweep", "room_to_wait"]

WINDOW: Final = 60
"""Seconds for which a budget is given."""
NOTED_PER_ASK: Final = 5
"""So many times what it may ask about may a network have noted for the sweep."""
PREFIX: Final = "payments_pages.unknown"

logger = logging.getLogger("payments_pages.budgets")

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
