"""Decide whether the service may be asked about a reference now, or only by the sweep.

Asked about without a limit:

- a reference that is vouched for: a signed webhook, staff or the merchant's own code names it now
- a reference from a caller without an address, which is the merchant's own code

The others use up a budget of their address, and an answer "success" is never charged:

- one budget for references that may be invented: nobody has vouched for them, and no payment is known
- another one for payments that are known and not paid, so that who asks about them again and again
  keeps nobody else from being served

The counters are in the cache.
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
    "counter_of_unpaid",
    "put_off",
    "room_for",
    "room_in_sweep",
    "room_to_ask_again",
    "room_to_wait",
]

logger = logging.getLogger("payments_pages.budgets")


WINDOW: Final = 60
"""Seconds after which a budget starts anew."""


NOTED_PER_ASK: Final = 5
"""A network may leave this many times its own budget to the sweep."""


PREFIX: Final = "payments_pages.unknown"


T = TypeVar("T")


def room_for(address: str) -> tuple[str, ...] | None:
    """Return the two counters to charge for an address: its own and the common one.

    Return None if one of the two budgets is used up. The counter's name contains a keyed hash of
    the address and not the address. Of an IPv6 address only the first 64 bits count, because one
    subscriber has all addresses that begin with them.
    """
    return _room((_name(address), conf.unknown_per_address), ("all", conf.unknown_in_all))


def room_to_wait(address: str) -> tuple[str, ...] | None:
    """Return the counter of the references that an address left to the sweep; None: it is full."""
    return _room((f"noted.{_name(address)}", NOTED_PER_ASK * conf.unknown_per_address))


def room_to_ask_again(address: str) -> tuple[str, ...] | None:
    """Return the counter of an address's calls about known payments that found no success.

    Return None if it is full. The sweep asks about these payments by its schedule.
    """
    return _room((f"unpaid.{_name(address)}", conf.unknown_per_address))


def counter_of_unpaid(address: str) -> tuple[str, ...]:
    """Return the same counter, full or not."""
    return (_counter(f"unpaid.{_name(address)}"),)


def room_in_sweep() -> tuple[str, ...] | None:
    """Return the counter that all sweeps share; None: it is full.

    Its limit is the limit of all doors together, `unknown_in_all`.
    """
    return _room(("sweep", conf.unknown_in_all))


def charge(counters: tuple[str, ...]) -> None:
    """Count one call to the service that found no payment, or got no usable answer."""
    for counter in counters:
        _guarded(partial(_count, counter), None)


def _room(*budgets: tuple[str, int]) -> tuple[str, ...] | None:
    limits = {_counter(name): limit for name, limit in budgets}
    counts: Mapping[str, int] = _guarded(lambda: caches[conf.cache].get_many(limits), {})
    if any(count >= limits[counter] for counter, count in counts.items()):
        return None
    return tuple(limits)


def _counter(name: str) -> str:
    """Return the key in the cache of a counter of this minute."""
    return f"{PREFIX}.{int(time() // WINDOW)}.{name}"


def _count(counter: str) -> None:
    cache = caches[conf.cache]
    cache.add(counter, 0, timeout=2 * WINDOW)
    cache.incr(counter)


def _guarded(use: Callable[[], T], otherwise: T) -> T:
    """Call `use`, which reads or writes the cache; return `otherwise` if it raises an error."""
    try:
        return use()
    except Exception as error:  # noqa: BLE001 - each cache has its own errors; none may stop a payer
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
"""About so many unvouched references may wait for the sweep without having been asked about."""


TRIMMED_EVERY: Final = 100
"""The waiting references are counted once for so many new ones, on average."""


RETRY_AFTER: Final = 60
"""Seconds after which a caller whose budget is used up may ask again: a new budget has started."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The permission to ask, with the counters to charge by what the service answers.

    - `counters`: no usable answer, or the service knows no such reference.
    - `unpaid`: an answer that is not a success.
    """

    counters: tuple[str, ...] = ()
    unpaid: tuple[str, ...] = ()

    def close(self, error: ServiceError) -> None:
        """Charge a call that was made and got no usable answer."""
        if not isinstance(error, NotAsked):
            self.charge()

    def charge(self) -> None:
        """Charge a call about a reference that the service does not know."""
        charge(self.counters)

    def charge_unless_paid(self, status: str) -> None:
        """Charge a call whose answer has this status, unless it is a success."""
        if status != "success":
            charge(self.unpaid)


def admit(key: str, *, client_ip: str, vouched: bool, known: bool) -> Admission | None:
    """Return the permission to ask about a reference, or None if its budget is used up.

    - `vouched`: this caller is trusted.
    - `known`: somebody has vouched for the reference before, or the service has known it.

    Only a call within the address's own budget counts against the common one. So one address
    cannot use up the budget of all.
    """
    if vouched or not client_ip:
        return Admission()
    if known:
        counters = room_to_ask_again(client_ip)
        return None if counters is None else Admission(counters, unpaid=counters)
    unpaid = counter_of_unpaid(client_ip)
    counters = room_for(client_ip)
    if counters is not None:
        return Admission(counters, unpaid=unpaid)
    # Last, because it is a query, and most references are within the budget.
    if ExpectedPayment.objects.primary().filter(reference_key=key).exists():
        return Admission(unpaid=unpaid)
    return None


def admit_swept() -> Admission | None:
    """Return the sweep's permission to ask about an unvouched reference; None: no budget left."""
    counters = room_in_sweep()
    return None if counters is None else Admission(counters)


def put_off(reference: str, key: str, door: Door, page_hint: UUID | None, client_ip: str) -> bool:
    """Store a reference for the sweep, and do not ask now. Return whether it was stored.

    It is not stored if its network has left too many references to the sweep; the payer may come
    again. If too many references wait, those least likely to be a payer's are deleted.
    """
    counters = room_to_wait(client_ip)
    if counters is None:
        return False
    inbox.remember(reference, key, door=door, page_hint=page_hint, vouched=False)
    charge(counters)
    # Only sometimes: to count the rows each time would cost more than to insert one.
    if random.random() * MAX_WAITING < TRIMMED_EVERY:  # noqa: S311 - spreads load, guards nothing
        make_room(MAX_WAITING)
    return True
