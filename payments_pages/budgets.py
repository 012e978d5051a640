"""Bound how often strangers can make us ask the service about references it does not know.

Anybody can call the callback with made-up references. Each address, and all of them together,
has a budget for a minute; what the service turns out to know is given back, so that payers who
share an address with many others, or with a guesser, are not counted.

The counters live in a Django cache. A cache that is down stops nobody: the budget is then not
kept, and the log says so. Django's database and file caches do not count atomically; under a
rush they let a few more through.
"""

import ipaddress
import logging
from collections.abc import Callable
from time import time
from typing import Final

from django.core.cache import caches
from django.utils.crypto import salted_hmac

from payments_pages.conf import conf

__all__ = ["WINDOW", "give_back", "take", "take_in_sweep"]

WINDOW: Final = 60
"""Seconds for which a budget is given."""
PREFIX: Final = "payments_pages.unknown"

logger = logging.getLogger("payments_pages.budgets")


def take(address: str) -> tuple[str, ...] | None:
    """Take one from the budget of an address and from that of all; None when one is used up.

    Return the counters it was taken from, for `give_back`. The counters' names hold the
    address only as a keyed hash; of an IPv6 address its first 64 bits count, for those are
    what one subscriber has.
    """
    network = salted_hmac(PREFIX, _network(address), algorithm="sha256").hexdigest()
    return _take((network, conf.unknown_per_address), ("all", conf.unknown_in_all))


def take_in_sweep() -> tuple[str, ...] | None:
    """Take one from the budget that all sweeps share, which is as large as that of all doors."""
    return _take(("sweep", conf.unknown_in_all))


def give_back(counters: tuple[str, ...]) -> None:
    """Give back what was taken: the service was not asked, or knew the reference."""
    for counter in counters:
        _guarded(_uncount, counter)


def _take(*budgets: tuple[str, int]) -> tuple[str, ...] | None:
    window = int(time() // WINDOW)
    taken: tuple[str, ...] = ()
    for name, limit in budgets:
        counter = f"{PREFIX}.{window}.{name}"
        count = _guarded(_count, counter)
        if count:
            taken += (counter,)
        if count > limit:
            give_back(taken)
            return None
    return taken


def _count(counter: str) -> int:
    cache = caches[conf.cache]
    cache.add(counter, 0, timeout=2 * WINDOW)
    return cache.incr(counter)


def _uncount(counter: str) -> int:
    return caches[conf.cache].decr(counter)


def _guarded(change: Callable[[str], int], counter: str) -> int:
    """Change a counter; 0 when the cache cannot."""
    try:
        return change(counter)
    except Exception as error:  # noqa: BLE001 - each cache raises its own; none may stop a payer
        kind = type(error).__name__
        logger.warning("budgets.cache_failed: %s", kind, extra={"error": kind})
        return 0


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
