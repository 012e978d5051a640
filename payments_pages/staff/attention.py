"""Count what needs the attention of staff: held, failing, overdue. Figures, no sentences."""

import datetime as dt
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

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
    other_mode_fulfilments,
    other_mode_verifications,
    unrecorded,
)
from payments_pages.db import from_now
from payments_pages.exceptions import AuthenticationFailed, ConfigurationError, UnusableKey
from payments_pages.models import Fulfilment, Verification, primary_alias
from payments_pages.references import text_key

__all__ = ["ATTENTION_CAP", "Attention", "read_attention"]

ATTENTION_CAP = 100
"""Rows counted of each kind at most: above it nobody needs the exact number."""
KEY_REFUSED_WITHIN = 3600
"""Seconds for which a refused key is shown; the next successful answer clears the error."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Counts of what needs attention, each at most `ATTENTION_CAP + 1`, and what else is wrong.

    - `held`: wait for a decision of staff.
    - `spent`: deliveries that failed too often, or for good.
    - `failing`: deliveries that will be retried automatically.
    - `overrun`: deliveries that run longer than their lease: a process died, or a handler hangs.
    - `unknown`: references from a trusted source that the service does not know.
    - `contradicted`: a signed message said that they are paid; the service does not confirm it.
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
    """

    held: int = 0
    spent: int = 0
    failing: int = 0
    overrun: int = 0
    unknown: int = 0
    contradicted: int = 0
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


def read_attention() -> Attention:
    """Count what needs attention, in fifteen queries.

    A database that is busy or down, or a missing setting, is reported in the result, not raised.
    """
    missing: list[str] = []
    unread: list[bool] = []

    def read(ask: Callable[[], Found], otherwise: Found) -> Found:
        if unread:
            return otherwise  # do not wait again for a database that did not answer
        try:
            with _savepoint():
                return ask()
        except ConfigurationError as error:
            missing.append(str(error))
        except (DatabaseError, InterfaceError):
            unread.append(True)
        return otherwise

    read(_read_required, None)
    held = read(_held_reasons, Counter[str]())
    spent = sum(count for reason, count in held.items() if reason not in POLICY_REASONS)
    return Attention(
        held=held.total() - spent,
        spent=spent,
        failing=read(_failing, 0),
        overrun=read(_overrun, 0),
        unknown=read(_unknown, 0),
        contradicted=read(lambda: _count(contradicted()), 0),
        unrecorded=read(lambda: _count(unrecorded()), 0),
        open_for_long=read(lambda: _count(open_for_long()), 0),
        lapsed=read(lambda: _count(lapsed()), 0),
        other_mode_verifications=read(_other_asks, 0),
        other_mode_fulfilments=read(_other_deliveries, 0),
        overdue=read(_overdue, None),
        key_refused_at=read(_key_refused_at, None),
        pause=GATES.longest_pause(),
        unread=bool(unread),
        missing=missing[0] if missing else "",
    )


def _savepoint() -> AbstractContextManager[Any]:
    """Return a savepoint, so that a failed query does not break the request's own transaction."""
    using = primary_alias(Fulfilment)
    inside = connections[using].in_atomic_block
    return db_transaction.atomic(using=using) if inside else nullcontext()


def _read_required() -> None:
    """Read the required settings; raise `ConfigurationError` if one is missing."""
    for name in ("mode", "secret_key", "base_url", "pay_url", "handler"):
        getattr(conf, name)


def _held_reasons() -> Counter[str]:
    """Count holds by reason: at most `ATTENTION_CAP + 1` of the policy's and as many others.

    Without holds that no staff need to see, such as payments of another site.
    """
    rows = _in_state(FulfilmentState.HELD)
    policy = rows.filter(loud_holds()).values_list("reason", flat=True)
    others = rows.exclude(reason__in=POLICY_REASONS).values_list("reason", flat=True)
    return Counter([*policy[: ATTENTION_CAP + 1], *others[: ATTENTION_CAP + 1]])


def _failing() -> int:
    """Count deliveries that will be retried, among the newest; of this mode only.

    The mode is compared in Python, by the keys: in SQL, PostgreSQL would scan a table for it.
    """
    rows = _in_state(FulfilmentState.FAILED).order_by("-transaction_id")
    found = rows.values_list("transaction__reference", "reference_key")[: ATTENTION_CAP + 1]
    mode = conf.mode_or_blank
    return sum(not mode or text_key(mode, reference) == key for reference, key in found)


def _in_state(state: FulfilmentState) -> "QuerySet[Fulfilment]":
    return Fulfilment.objects.primary().filter(state=state).order_by()


def _overrun() -> int:
    return _count(open_fulfilments().overrun().order_by())


def _unknown() -> int:
    rows = Verification.objects.primary().filter(state=VerificationState.UNKNOWN, vouched=True)
    return _count(rows.order_by())


def _other_asks() -> int:
    return _count(other_mode_verifications())


def _other_deliveries() -> int:
    return _count(other_mode_fulfilments())


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


def _count(rows: "QuerySet[Any]") -> int:
    return rows[: ATTENTION_CAP + 1].count()
