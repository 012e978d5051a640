"""Choose among the references that wait for an answer: whose word they are, which are forgotten."""

import datetime as dt

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from payments_pages.choices import VerificationState
from payments_pages.models import Transaction, Verification
from payments_pages.models.verifications import VerificationQuerySet

__all__ = ["acquaintances", "purge_unknown", "strangers", "waiting_references"]

UNKNOWN_KEPT_FOR = dt.timedelta(hours=24)


def waiting_references(*, since: dt.datetime | None = None) -> list[str]:
    """Return the references that are still asked about, or were given up, oldest first.

    `since` leaves out those first seen before it.
    """
    rows = Verification.objects.primary().exclude(state=VerificationState.SETTLED)
    if since is not None:
        rows = rows.filter(created_at__gte=since)
    return list(rows.order_by("pk").values_list("reference", flat=True))


def strangers() -> VerificationQuerySet:
    """Return the references nobody vouched for that the service has never been seen to know."""
    mirrored = Transaction.objects.primary().filter(reference_key=OuterRef("reference_key"))
    return Verification.objects.primary().filter(~Exists(mirrored), vouched=False)


def acquaintances() -> VerificationQuerySet:
    """Return all other references: somebody vouched for them, or the service knows them."""
    mirrored = Transaction.objects.primary().filter(reference_key=OuterRef("reference_key"))
    return Verification.objects.primary().filter(Q(vouched=True) | Q(Exists(mirrored)))


def purge_unknown() -> int:
    """Forget references that the service never knew and nobody vouched for, after a day."""
    old = timezone.now() - UNKNOWN_KEPT_FOR
    gone, _ = strangers().filter(state=VerificationState.UNKNOWN, created_at__lt=old).delete()
    return gone
