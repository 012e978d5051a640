"""Count what needs the attention of staff: held, failing, overdue. Figures, no sentences."""

import datetime as dt
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from django.db import DatabaseError, InterfaceError, connections
from django.db import transaction as db_transaction
from django.db.models import Max, Q, QuerySet

from payments_pages.choices import FulfilmentState, VerificationState
from payments_pages.client import GATES
from payments_pages.conf import conf
from payments_pages.confirmation import (
    POLICY_REASONS,
    contradicted,
    lapsed,
    loud_holds,
    oldest_due,
    open_for_long,
    open_fulfilments,
    open_verifications,
    other_mode_fulfilments,
    other_mode_verifications,
    refuse_other_site,
    unknown,
    unreadable,
    unrecorded,
)
from payments_pages.db import from_now
from payments_pages.exceptions import (
    AuthenticationFailed,
    ConfigurationError,
    OtherSite,
    UnusableKey,
)
from payments_pages.models import Fulfilment, Verification, primary_alias
from payments_pages.references import text_key

__all__ = ["ATTENTION_CAP", "KEYS_CAP", "MANY", "Attention", "attention_keys", "read_attention"]

ATTENTION_CAP = 100
"""Rows counted of each kind at most: above it nobody needs the exact number."""
KEYS_CAP = 1000
"""Rows named of each kind at most: above it only that there are `MANY`."""
MANY: Final = "*"
KEY_REFUSED_WITHIN = 3600
"""Seconds for which a refused key is shown; the next successful answer clears the error."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Counts of what needs attention, each at most `ATTENTION_CAP + 1`, and what else is wrong.

    - `held`: wait for a decision of staff.
    - `spent`: deliveries that failed too often, or for good.
    - `money_back`: delivered, then reversed, refunded or disputed; not yet seen by staff.
    - `failing`: deliveries that will be retried automatically.
    - `overrun`: deliveries that run longer than their lease: a process died, or a handler hangs.
    - `overrun_asks`: references that are being confirmed for longer than their lease, for the same
      reasons. The first delivery of a payment is made while its answer is recorded.
    - `unknown`: references that somebody said to be paid, and that the service does not know.
    - `contradicted`: a signed message said that they are paid; the service does not confirm it.
    - `unreadable`: references about which the service's answers cannot be read, for long.
    - `unrecorded`: the service's answer could not be saved.
    - `open_for_long`: the service has called them open for weeks.
    - `lapsed`: references from a trusted source that are no longer asked about.
    - `other_mode_verifications`, `other_mode_fulfilments`: belong to the other mode; no sweep takes
      them until `MODE` is switched back.
    - `overdue`: the age of the oldest due row, if it is more than `OVERDUE`.
    - `key_refused_at`: when the service last refused our key.
    - `pause`: seconds for which this process makes no calls, since the service kept failing.
    - `unread`: the database could not be read.
    - `missing`: which setting is missing or wrong.
    - `other_site`: why nothing is delivered here, if the tables are bound to another site.
    """

    held: int = 0
    spent: int = 0
    money_back: int = 0
    failing: int = 0
    overrun: int = 0
    overrun_asks: int = 0
    unknown: int = 0
    contradicted: int = 0
    unreadable: int = 0
    unrecorded: int = 0
    open_for_long: int = 0
    lapsed: int = 0
    other_mode_verifications: int = 0
    other_mode_fulfilments: int = 0
    overdue: dt.timedelta | None = None
    key_refused_at: dt.datetime | None = None
    pause: float = 0.0
    unread: bool = False
    missing: str = ""
    other_site: str = ""


def read_attention() -> Attention:
    """Count what needs attention, in eighteen queries.

    A database that is busy or down, or a missing setting, is reported in the result, not raised.
    """
    missing: list[str] = []
    other_site: list[str] = []
    unread: list[bool] = []

    def read(ask: Callable[[], Found], otherwise: Found) -> Found:
        if unread:
            return otherwise  # do not wait again for a database that did not answer
        try:
            with _savepoint():
                return ask()
        except OtherSite as error:
            other_site.append(str(error))
        except ConfigurationError as error:
            missing.append(str(error))
        except (DatabaseError, InterfaceError):
            unread.append(True)
        return otherwise

    read(refuse_other_site, None)
    read(_read_required, None)
    counts = {name: read(partial(_count, rows), 0) for name, rows in _COUNTED.items()}
    return Attention(
        **counts,
        failing=read(lambda: len(_failing(ATTENTION_CAP)), 0),
        overdue=read(_overdue, None),
        key_refused_at=read(_key_refused_at, None),
        pause=GATES.longest_pause(),
        unread=bool(unread),
        missing=missing[0] if missing else "",
        other_site=other_site[0] if other_site else "",
    )


def attention_keys() -> dict[str, set[str]]:
    """Return the `reference_key`s of what each count of `Attention` counts, by the count's name.

    `{MANY}` for a count above `KEYS_CAP`; without the counts that are zero. An error of the database
    is raised.
    """
    keys = {
        name: set(rows().values_list("reference_key", flat=True)[: KEYS_CAP + 1])
        for name, rows in _COUNTED.items()
    }
    keys["failing"] = set(_failing(KEYS_CAP))
    return {
        name: found if len(found) <= KEYS_CAP else {MANY} for name, found in keys.items() if found
    }


def _savepoint() -> AbstractContextManager[Any]:
    """Return a savepoint, so that a failed query does not break the request's own transaction."""
    using = primary_alias(Fulfilment)
    inside = connections[using].in_atomic_block
    return db_transaction.atomic(using=using) if inside else nullcontext()


def _read_required() -> None:
    """Read the required settings; raise `ConfigurationError` if one is missing."""
    for name in ("mode", "secret_key", "base_url", "pay_url", "handler"):
        getattr(conf, name)


def _in_state(state: FulfilmentState) -> "QuerySet[Fulfilment]":
    return Fulfilment.objects.primary().filter(state=state).order_by()


_COUNTED: Final[Mapping[str, Callable[[], "QuerySet[Any]"]]] = {
    # Without holds that no staff need to see, such as payments of another site.
    "held": lambda: _in_state(FulfilmentState.HELD).filter(loud_holds()),
    "spent": lambda: _in_state(FulfilmentState.HELD).exclude(reason__in=POLICY_REASONS),
    "money_back": lambda: Fulfilment.objects.primary().money_back().order_by(),
    "overrun": lambda: open_fulfilments().overrun().order_by(),
    "overrun_asks": lambda: open_verifications().overrun().order_by(),
    "unknown": unknown,
    "contradicted": contradicted,
    "unreadable": unreadable,
    "unrecorded": unrecorded,
    "open_for_long": open_for_long,
    "lapsed": lapsed,
    "other_mode_verifications": other_mode_verifications,
    "other_mode_fulfilments": other_mode_fulfilments,
}
"""The rows of each count but `failing`, by its name."""


def _failing(cap: int) -> list[str]:
    """Return the keys of deliveries that will be retried, among the newest; of this mode only.

    The mode is compared in Python, by the keys: in SQL, PostgreSQL would scan a table for it.
    """
    rows = _in_state(FulfilmentState.FAILED).order_by("-transaction_id")
    found = rows.values_list("transaction__reference", "reference_key")[: cap + 1]
    mode = conf.mode_or_blank
    return [key for reference, key in found if not mode or text_key(mode, reference) == key]


def _overdue() -> dt.timedelta | None:
    age = oldest_due()
    return age if age is not None and age.total_seconds() > conf.overdue else None


def _key_refused_at() -> dt.datetime | None:
    """Return when a call last failed because of our key; a later answer clears the error."""
    ours = Q(last_error__startswith=AuthenticationFailed.__name__)
    ours |= Q(last_error__startswith=UnusableKey.__name__)
    rows = Verification.objects.primary().filter(
        ours, state=VerificationState.DUE, asked_at__gte=from_now(-KEY_REFUSED_WITHIN)
    )
    found: dt.datetime | None = rows.aggregate(last=Max("asked_at"))["last"]
    return found


def _count(rows: Callable[[], "QuerySet[Any]"]) -> int:
    return rows()[: ATTENTION_CAP + 1].count()
