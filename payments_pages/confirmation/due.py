"""Choose among the references that wait for an answer: whose word they are, which are forgotten.

All but the forgetting is about rows of this site's mode. Asked about under the other mode, a
reference is another one: its own row would wait for ever, and a second one beside it.
"""

import datetime as dt

from django.db.models import Exists, OuterRef, Q, QuerySet

from payments_pages.choices import Door, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation.policy import FINAL_FAILURES
from payments_pages.db import from_now
from payments_pages.models import (
    Fulfilment,
    FulfilmentQuerySet,
    PaymentPage,
    Transaction,
    Verification,
    VerificationQuerySet,
)

__all__ = [
    "contradicted",
    "due_unvouched",
    "forget_unknown",
    "lapsed",
    "make_room",
    "open_for_long",
    "open_fulfilments",
    "open_verifications",
    "other_mode_fulfilments",
    "other_mode_verifications",
    "unrecorded",
    "unvouched",
    "vouched_or_mirrored",
    "waiting_references",
]

UNKNOWN_KEPT_FOR = 24 * 3600
"""Seconds for which a reference is kept that the service does not know and nobody vouched for."""
CONFIRMED_WITHIN = 600
"""Seconds after a signed success in which the service confirms it, or staff are told."""
OPEN_FOR_LONG = 30 * 24 * 3600
LAPSED_LATELY = 33 * 24 * 3600
"""Seconds after it was last named for which a reference that was given up is shown to staff."""


def open_verifications() -> VerificationQuerySet:
    """Return the references of this site's mode; all, while the mode cannot be told."""
    rows = Verification.objects.primary()
    mode = conf.mode_or_blank
    return rows.filter(mode=mode) if mode else rows


def open_fulfilments() -> FulfilmentQuerySet:
    """Return the deliveries of this site's mode; all, while the mode cannot be told."""
    rows = Fulfilment.objects.primary()
    mode = conf.mode_or_blank
    return rows.filter(~Exists(_of_other_mode(mode))) if mode else rows


def other_mode_verifications() -> VerificationQuerySet:
    """Return the due references of the other mode: nobody asks until `MODE` is that again."""
    mode = conf.mode_or_blank
    rows = Verification.objects.primary().due()
    return rows.exclude(mode=mode) if mode else rows.none()


def other_mode_fulfilments() -> FulfilmentQuerySet:
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
    rows = open_verifications().exclude(
        state__in=[VerificationState.SETTLED, VerificationState.ENDED]
    )
    if since is not None:
        rows = rows.filter(created_at__gte=since)
    return list(rows.order_by("pk").values_list("reference", flat=True))


def contradicted() -> VerificationQuerySet:
    """Return the references that a signed message called paid, and the service does not, for long."""
    confirmed = _mirrored().filter(status__in=("success", "reversed"))
    return _still_asked().filter(
        ~Exists(confirmed), signed_success_at__lte=from_now(-CONFIRMED_WITHIN)
    )


def open_for_long() -> VerificationQuerySet:
    """Return what the service calls open, and nobody trusted has named for thirty days."""
    open_ones = _mirrored().exclude(status__in=("success", *FINAL_FAILURES))
    return _still_asked().filter(Exists(open_ones), named_at__lte=from_now(-OPEN_FOR_LONG))


def unrecorded() -> VerificationQuerySet:
    """Return the references whose answer could not be written down."""
    return _still_asked().filter(last_error__startswith=Verification.NOT_RECORDED)


def lapsed() -> VerificationQuerySet:
    """Return what was given up lately although somebody trusted named it.

    Not what the merchant's own code expected and nobody paid: most orders that end are such.
    """
    rows = open_verifications().filter(state=VerificationState.LAPSED)
    # The newest alone: years of orders that nobody paid lie behind them.
    newest = list(rows.order_by("-pk").values_list("pk", flat=True)[:1000])
    found = rows.filter(pk__in=newest, vouched=True, named_at__gt=from_now(-LAPSED_LATELY))
    return found.exclude(first_door=Door.EXPECTED)


def _still_asked() -> VerificationQuerySet:
    # No next time is so far away: this names the index, which else no database takes for so many.
    return open_verifications().filter(
        state__in=[VerificationState.DUE, VerificationState.VERIFYING],
        next_at__lte=from_now(OPEN_FOR_LONG),
    )


def unvouched() -> VerificationQuerySet:
    """Return the references nobody vouched for that the service has never been seen to know."""
    return _unmirrored(open_verifications())


def due_unvouched() -> VerificationQuerySet:
    """Return those of them that are due, the likeliest payers first."""
    return _likeliest_first(unvouched().due())


def make_room(limit: int) -> int:
    """Forget the last of the strangers that were never asked about, so that `limit` are left.

    A thousand at a time; return how many. Whoever is forgotten may come again.
    """
    # By compare-and-set: what somebody asks about or vouches for meanwhile is kept.
    rows = open_verifications().filter(state=VerificationState.DUE, vouched=False, asked_at=None)
    last = list(_likeliest_first(rows).values_list("pk", flat=True)[limit : limit + 1000])
    return rows.filter(pk__in=last).delete()[0] if last else 0


def vouched_or_mirrored() -> VerificationQuerySet:
    """Return all other references: somebody vouched for them, or the service knows them."""
    return open_verifications().filter(Q(vouched=True) | Q(Exists(_mirrored())))


def forget_unknown() -> int:
    """Forget references that the service never knew and nobody vouched for, after a day.

    Of both modes: those of the other one are worth no more.
    """
    old = from_now(-UNKNOWN_KEPT_FOR)
    rows = _unmirrored(Verification.objects.primary())
    gone, _ = rows.filter(state=VerificationState.UNKNOWN, named_at__lt=old).delete()
    return gone


def _likeliest_first(rows: VerificationQuerySet) -> VerificationQuerySet:
    """Put who came by the callback of a page of ours first, then the newest.

    A payer is not behind the thousands that somebody has made up before.
    """
    pages = PaymentPage.objects.primary().filter(token=OuterRef("page_claim"))
    return rows.order_by(Exists(pages).desc(), "-pk")


def _unmirrored(rows: VerificationQuerySet) -> VerificationQuerySet:
    return rows.filter(~Exists(_mirrored()), vouched=False)


def _mirrored() -> QuerySet[Transaction]:
    return Transaction.objects.primary().filter(reference_key=OuterRef("reference_key"))
