"""Querysets of the references and deliveries that wait, and the deletion of unknown references.

Most are limited to this site's mode. The reference key includes the mode: to ask about a row of
the other mode would create a second row, and leave the first waiting for ever.
"""

import datetime as dt

from django.db.models import Exists, OuterRef, Q, QuerySet

from payments_pages.choices import Door, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation.policy import FINAL_FAILURES
from payments_pages.db import from_now
from payments_pages.exceptions import InvalidResponse
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
    "unknown",
    "unreadable",
    "unrecorded",
    "unvouched",
    "vouched_or_mirrored",
    "waiting_references",
]

UNKNOWN_KEPT_FOR = 24 * 3600
"""Seconds after which an unknown reference is deleted that nobody vouched for."""
CONFIRMED_WITHIN = 600
"""Seconds that the service has to confirm a signed success; after that it is shown to staff."""
OPEN_FOR_LONG = 30 * 24 * 3600
"""Seconds since a reference was last named, after which an open payment is shown to staff."""
LAPSED_LATELY = 33 * 24 * 3600
"""Seconds since a reference was last named, up to which staff see that it was given up."""


def open_verifications() -> VerificationQuerySet:
    """Return the references of this site's mode; all references if the mode is not known."""
    rows = Verification.objects.primary()
    mode = conf.mode_or_blank
    return rows.filter(mode=mode) if mode else rows


def open_fulfilments() -> FulfilmentQuerySet:
    """Return the deliveries of this site's mode; all deliveries if the mode is not known."""
    rows = Fulfilment.objects.primary()
    mode = conf.mode_or_blank
    return rows.filter(~Exists(_of_other_mode(mode))) if mode else rows


def other_mode_verifications() -> VerificationQuerySet:
    """Return the due references of the other mode. They wait until `MODE` is switched back."""
    mode = conf.mode_or_blank
    rows = Verification.objects.primary().due()
    return rows.exclude(mode=mode) if mode else rows.none()


def other_mode_fulfilments() -> FulfilmentQuerySet:
    """Return the due deliveries of the other mode. They wait until `MODE` is switched back."""
    mode = conf.mode_or_blank
    rows = Fulfilment.objects.primary().due()
    return rows.filter(Exists(_of_other_mode(mode))) if mode else rows.none()


def _of_other_mode(mode: str) -> VerificationQuerySet:
    """Return the verification of a delivery, for a subquery, if it is of the other mode.

    A delivery whose verification was deleted is not left out: it is still made.
    """
    rows = Verification.objects.primary().filter(reference_key=OuterRef("reference_key"))
    return rows.exclude(mode=mode)


def waiting_references(*, since: dt.datetime | None = None) -> list[str]:
    """Return the references that are still asked about or have lapsed, the oldest first.

    `since` leaves out references that were first seen before that time.
    """
    rows = open_verifications().exclude(
        state__in=[VerificationState.SETTLED, VerificationState.ENDED]
    )
    if since is not None:
        rows = rows.filter(created_at__gte=since)
    return list(rows.order_by("pk").values_list("reference", flat=True))


def contradicted() -> VerificationQuerySet:
    """Return the references with a signed success that the service has not confirmed in time."""
    confirmed = _mirrored().filter(status__in=("success", "reversed"))
    return _still_asked().filter(
        ~Exists(confirmed), signed_success_at__lte=from_now(-CONFIRMED_WITHIN)
    )


def open_for_long() -> VerificationQuerySet:
    """Return the payments that the service calls open and that nobody has named for 30 days."""
    open_ones = _mirrored().exclude(status__in=("success", *FINAL_FAILURES))
    return _still_asked().filter(Exists(open_ones), named_at__lte=from_now(-OPEN_FOR_LONG))


def unrecorded() -> VerificationQuerySet:
    """Return the references whose answer could not be recorded."""
    return _still_asked().filter(last_error__startswith=Verification.NOT_RECORDED)


def unreadable() -> VerificationQuerySet:
    """Return the vouched references about which the service gives no answer that can be read.

    Only after `OVERDUE` seconds since one was last named: a proxy's page of an outage is gone by
    then. They are asked about for ever, since whatever stands in between may recover.
    """
    found = _still_asked().filter(vouched=True, named_at__lte=from_now(-conf.overdue))
    return found.filter(last_error__startswith=InvalidResponse.__name__)


def unknown() -> VerificationQuerySet:
    """Return the references that the service does not know, although somebody said: it is paid.

    An expected payment that nobody has begun is unknown, too, and no news.
    """
    rows = open_verifications().filter(state=VerificationState.UNKNOWN, vouched=True)
    return rows.filter(Q(said_paid=True) | Q(first_door=Door.COMMAND))


def lapsed() -> VerificationQuerySet:
    """Return the vouched references that were given up in the last days.

    Those that an expected payment brought in, and nobody said to be paid, are left out: many orders
    are simply never paid.
    """
    rows = open_verifications().filter(state=VerificationState.LAPSED)
    # Only among the newest 1,000 rows: the older ones are years of orders that were never paid.
    newest = list(rows.order_by("-pk").values_list("pk", flat=True)[:1000])
    found = rows.filter(pk__in=newest, vouched=True, named_at__gt=from_now(-LAPSED_LATELY))
    return found.exclude(first_door=Door.EXPECTED, said_paid=False)


def _still_asked() -> VerificationQuerySet:
    # Every row of these states has a nearer `next_at`. The condition makes databases use the index,
    # which they otherwise do not for so many rows.
    return open_verifications().filter(
        state__in=[VerificationState.DUE, VerificationState.VERIFYING],
        next_at__lte=from_now(OPEN_FOR_LONG),
    )


def unvouched() -> VerificationQuerySet:
    """Return the references that nobody vouched for and of which no transaction is mirrored."""
    return _unmirrored(open_verifications())


def due_unvouched() -> VerificationQuerySet:
    """Return the due references that nobody vouched for, the most likely payers first."""
    return _likeliest_first(unvouched().due())


def make_room(limit: int) -> int:
    """Delete unvouched references that were never asked about, so that `limit` are left.

    The least likely payers are deleted, at most 1,000 in one call. Return how many. A payer whose
    reference was deleted may come again.
    """
    # The conditions are part of the DELETE: a row that was asked about or vouched for in the
    # meantime is kept.
    rows = open_verifications().filter(state=VerificationState.DUE, vouched=False, asked_at=None)
    last = list(_likeliest_first(rows).values_list("pk", flat=True)[limit : limit + 1000])
    return rows.filter(pk__in=last).delete()[0] if last else 0


def vouched_or_mirrored() -> VerificationQuerySet:
    """Return the references that somebody vouched for, or of which a transaction is mirrored."""
    return open_verifications().filter(Q(vouched=True) | Q(Exists(_mirrored())))


def forget_unknown() -> int:
    """Delete unknown references of both modes that nobody vouched for, after a day.

    Return how many.
    """
    old = from_now(-UNKNOWN_KEPT_FOR)
    rows = _unmirrored(Verification.objects.primary())
    gone, _ = rows.filter(state=VerificationState.UNKNOWN, named_at__lt=old).delete()
    return gone


def _likeliest_first(rows: VerificationQuerySet) -> VerificationQuerySet:
    """Sort references with the token of a page of ours first, then the newest first.

    So a payer's reference comes before thousands that somebody has invented.
    """
    pages = PaymentPage.objects.primary().filter(token=OuterRef("page_claim"))
    return rows.order_by(Exists(pages).desc(), "-pk")


def _unmirrored(rows: VerificationQuerySet) -> VerificationQuerySet:
    return rows.filter(~Exists(_mirrored()), vouched=False)


def _mirrored() -> QuerySet[Transaction]:
    return Transaction.objects.primary().filter(reference_key=OuterRef("reference_key"))
