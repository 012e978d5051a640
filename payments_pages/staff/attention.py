"""Find what staff must see to: held, failing, overdue, refused. Figures, no sentences."""

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
"""Rows counted of each kind: above it nobody needs the exact figure, and counting costs."""
KEY_REFUSED_WITHIN = 3600
"""Seconds for which a refused key is news; the next answer takes the trace away."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Give the counts, each `ATTENTION_CAP + 1` when there are more, and what else is wrong.

    `held` waits for a decision; `spent` are deliveries that failed too often or for good;
    `failing` will be tried again by themselves; `overrun` are being delivered for longer than
    their lease: a process has died, or a handler hangs; `unknown` are references that somebody vouched
    for and the service does not know. `contradicted` were called paid by a signed message and not
    by the service; `unrecorded` could not be written down; `open_for_long` has the service called
    open for weeks; `lapsed` were given up. `other_mode_verifications` and `other_mode_fulfilments` were left behind when
    `MODE` was changed: no sweep takes them while it is not that again. `overdue` is the age of the oldest due row, if it is older
    than `OVERDUE`. `key_refused_at` is when our key last failed; `pause` the seconds for which
    this process asks nothing, since the service kept failing. `unread` says that the database
    could not be read, `missing` which setting is missing or wrong.
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
    """Read what needs attention, in fifteen queries; never raise for what is read here.

    A busy or broken database, or a missing setting, is itself something to see to.
    """
    missing: list[str] = []
    unread: list[bool] = []

    def read(ask: Callable[[], Found], otherwise: Found) -> Found:
        if unread:
            return otherwise  # one wait for a database that does not answer is enough
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
    """Keep the request's own transaction usable, where it has one, when a query fails."""
    using = primary_alias(Fulfilment)
    inside = connections[using].in_atomic_block
    return db_transaction.atomic(using=using) if inside else nullcontext()


def _read_required() -> None:
    """Read what the path cannot do without; what is missing raises."""
    for name in ("mode", "secret_key", "base_url", "pay_url", "handler"):
        getattr(conf, name)


def _held_reasons() -> Counter[str]:
    """Count what is held by its reason, `ATTENTION_CAP + 1` of the policy's holds and of the others at most.

    Without those that wait for nobody.
    """
    rows = _in_state(FulfilmentState.HELD)
    policy = rows.filter(loud_holds()).values_list("reason", flat=True)
    others = rows.exclude(reason__in=POLICY_REASONS).values_list("reason", flat=True)
    return Counter([*policy[: ATTENTION_CAP + 1], *others[: ATTENTION_CAP + 1]])


def _failing() -> int:
    """Count what will be tried again, among the newest that fail: of this mode alone.

    By the keys, here: asked to leave the other mode out, PostgreSQL reads a table for it.
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
    """Find the last ask that failed for our key; those that were answered since hold no error."""
    ours = Q(last_error__startswith=AuthenticationFailed.__name__)
    ours |= Q(last_error__startswith=UnusableKey.__name__)
    rows = Verification.objects.primary().filter(
        ours, state=VerificationState.DUE, asked_at__gte=from_now(-KEY_REFUSED_WITHIN)
    )
    found: dt.datetime | None = rows.aggregate(last=Max("asked_at"))["last"]
    return found


def _count(rows: "QuerySet[Any]") -> int:
    return rows[: ATTENTION_CAP + 1].count()
