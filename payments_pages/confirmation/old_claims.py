"""Claims taken long ago: end them, or learn that an answer is still being recorded under one.

A handler that hangs, or a computer that slept, keeps the transaction that records open for any
time. Whoever must know that it is committed, or never will be, asks here.
"""

import datetime as dt

from payments_pages.choices import VerificationState
from payments_pages.db import UtcNow, change_unless_held
from payments_pages.models import Verification

__all__ = ["end_old_claims"]


def end_old_claims(before: dt.datetime) -> bool:
    """End the claims to ask that were taken before a time; return False if one is still in use.

    The transaction that records an answer has changed its verification first. Until it ends, that
    row is locked, and for all others it is `verifying` since the database's time of the claim. The
    row of a caller that died is free: it is due, as it was since its lease ended. A caller that
    wakes up after that records nothing. SQLite lets one transaction write at a time, so there the
    change waits for the one that records.
    """
    rows = Verification.objects.primary().filter(
        state=VerificationState.VERIFYING, asked_at__lt=before
    )
    ended = rows.filter(next_at__lte=UtcNow())
    for pk in list(ended.values_list("pk", flat=True)):
        change_unless_held(ended, pk, state=VerificationState.DUE)
    return not rows.exists()
