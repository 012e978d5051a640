"""Choose among the references that wait for an answer: whose word they are, which are forgotten.

All but the forgetting is about rows of this site's mode. Asked about under the other mode, a
reference is another one: its own row would wait for ever, and a second one beside it.
"""

import datetime as dt

from django.db.models import Exists, OuterRef, Q, QuerySet

from payments_pages.choices import VerificationState
from payments_pages.conf import conf
from payments_pages.databases import from_now
from payments_pages.models import Fulfilment, Transaction, Verification
from payments_pages.models.fulfilments import FulfilmentQuerySet
from payments_pages.models.verifications import VerificationQuerySet

__all__ = [
    "acquaintances",
    "asks",
    "deliveries",
    "other_asks",
    "other_deliveries",
    "purge_unknown",
    "strangers",
    "waiting_references",
]

UNKNOWN_KEPT_FOR = 24 * 3600
"""Seconds."""


def asks() -> VerificationQuerySet:
    """Return the references of this site's mode; all, while the mode cannot be told."""
    rows = Verification.objects.primary()
    mode = conf.mode_or_blank
    return rows.filter(mode=mode) if mode else rows


def deliveries() -> FulfilmentQuerySet:
    """Return the deliveries of this site's mode; all, while the mode cannot be told."""
    rows = Fulfilment.objects.primary()
    mode = conf.mode_or_blank
    return rows.filter(~Exists(_of_other_mode(mode))) if mode else rows


def other_asks() -> VerificationQuerySet:
    """Return the due references of the other mode: nobody asks until `MODE` is that again."""
    mode = conf.mode_or_blank
    rows = Verification.objects.primary().due()
    return rows.exclude(mode=mode) if mode else rows.none()


def other_deliveries() -> FulfilmentQuerySet:
    """Return the due deliveries of the other mode: nobody makes them until `MODE` is that again."""
    mode = conf.mode_or_blank
    rows = Fulfilment.objects.primary().due()
    return rows.filter(Exists(_of_other_mode(mode))) if mode else rows.none()


def _of_other_mode(mode: str) -> VerificationQuerySet:
    """Find the row of a delivery's reference, if it is of the other mode, by its unique key.

    That it is of the other mode must be known: a delivery whose row somebody deleted is made.
    """
    rows = Verification.objects.primary().filter(reference_key=OuterRef("reference_key"))
    return rows.exclude(mode=mode)


def waiting_references(*, since: dt.datetime | None = None) -> list[str]:
    """Return the references that are still asked about, or have lapsed, oldest first.

    `since` leaves out those first seen before it.
    """
    rows = asks().exclude(state__in=[VerificationState.SETTLED, VerificationState.ENDED])
    if since is not None:
        rows = rows.filter(created_at__gte=since)
    return list(rows.order_by("pk").values_list("reference", flat=True))


def strangers() -> VerificationQuerySet:
    """Return the references nobody vouched for that the service has never been seen to know."""
    return _unmirrored(asks())


def acquaintances() -> VerificationQuerySet:
    """Return all other references: somebody vouched for them, or the service knows them."""
    return asks().filter(Q(vouched=True) | Q(Exists(_mirrored())))


def purge_unknown() -> int:
    """Forget references that the service never knew and nobody vouched for, after a day.

    Of both modes: those of the other one are worth no more.
    """
    old = from_now(-UNKNOWN_KEPT_FOR)
    rows = _unmirrored(Verification.objects.primary())
    gone, _ = rows.filter(state=VerificationState.UNKNOWN, named_at__lt=old).delete()
    return gone


def _unmirrored(rows: VerificationQuerySet) -> VerificationQuerySet:
    return rows.filter(~Exists(_mirrored()), vouched=False)


def _mirrored() -> QuerySet[Transaction]:
    return Transaction.objects.primary().filter(reference_key=OuterRef("reference_key"))
