"""Decide who asks the service about a reference, and write down how it went.

The guard is a conditional UPDATE, the first statement of its transaction: any number of rivals,
one call. `attempts` is the fence: an answer is written only by the attempt that asked for it.
"""

import datetime as dt
import time
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F, Q
from django.db.models.expressions import CombinedExpression

from payments_pages.choices import GIVEN_UP, Door, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation import schedule
from payments_pages.confirmation.inbox import change, find, first_signed_success
from payments_pages.confirmation.policy import FINAL_FAILURES
from payments_pages.confirmation.statements import (
    INSERT_CLAIMED_VERIFICATION,
    INSERT_SIGNED_VERIFICATION,
    SETTLE_VERIFICATION,
)
from payments_pages.db import UtcNow, from_now, retry_transient
from payments_pages.exceptions import (
    AuthenticationFailed,
    NotAsked,
    NotFound,
    ServiceError,
    UnusableKey,
)
from payments_pages.models import Verification, primary_alias
from payments_pages.redaction import place_of

__all__ = [
    "Claim",
    "await_rival",
    "claim",
    "fail",
    "fail_to_record",
    "fence_off",
    "is_outdated",
    "receive",
    "settle",
]

ASK_AT_MOST_EVERY = 2.0
LEASE_MARGIN = 7.0
"""Seconds that the lease outlives the call's deadline: time to write the answer down."""
RIVAL_PATIENCE = 2.0
"""Seconds a loser waits for the winner's answer, instead of telling a payer to come again."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to ask once: `attempt` is the fence to write the answer with."""

    pk: int
    attempt: int


def receive(
    reference: str,
    key: str,
    *,
    door: Door,
    page_claim: UUID | None,
    vouched: bool,
    signed_success: bool = False,
) -> tuple[Verification, Claim | None]:
    """Insert the row already claimed: one statement says "seen" and "I ask".

    A rival may have been first: then return its row and no claim. Any other integrity error is
    raised: taking it for a duplicate would lose the payment.
    """
    row = Verification(
        reference=reference,
        reference_key=key,
        mode=conf.mode,
        state=VerificationState.VERIFYING,
        attempts=1,
        first_door=door,
        vouched=vouched,
        page_claim=page_claim,
    )
    insert = INSERT_SIGNED_VERIFICATION if signed_success else INSERT_CLAIMED_VERIFICATION
    lease = dt.timedelta(seconds=conf.limits.deadline + LEASE_MARGIN)
    using = primary_alias(Verification)
    try:
        retry_transient(lambda _number: insert.run(using, row, lease=lease), using=using)
    except IntegrityError:
        theirs = find(key)
        if theirs is None:
            raise
        return theirs, None
    return row, Claim(row.pk, 1)


def claim(
    row: Verification, *, refresh: bool, vouched: bool, signed_success: bool = False
) -> Claim | None:
    """Take the right to ask, by compare-and-set; None when somebody else has it or just asked.

    A door asks at once whatever the schedule says. An anonymous one does not ask twice within two
    seconds, because a payer presses "check again" when it suits them; but it does if somebody
    trusted has named the reference since the last ask. `vouched` means that this caller does so
    now: the schedule starts anew. It also does for what was given up. `refresh` asks about a
    settled reference too.
    """
    free = Q(schedule.named_meanwhile()) | Q(asked_at__isnull=True)
    free |= Q(asked_at__lte=from_now(-ASK_AT_MOST_EVERY))
    states = [VerificationState.DUE, VerificationState.UNKNOWN, *GIVEN_UP]
    if refresh:
        states.append(VerificationState.SETTLED)
    claimable = Q(state__in=states) if vouched else Q(free, state__in=states)
    abandoned = Q(state=VerificationState.VERIFYING, next_at__lte=UtcNow())
    changes: dict[str, object] = {
        "state": VerificationState.VERIFYING,
        "attempts": F("attempts") + 1,
        "next_at": _lease_end(),
        "asked_at": UtcNow(),
    }
    if vouched:
        changes["vouched"] = True
    if vouched or row.state in GIVEN_UP:
        changes["named_at"] = UtcNow()
    if signed_success:
        changes["signed_success_at"] = first_signed_success()
    unmoved = Verification.objects.primary().filter(pk=row.pk, attempts=row.attempts)
    won = change(unmoved.filter(claimable | abandoned), **changes)
    return Claim(row.pk, row.attempts + 1) if won else None


def settle(claim: Claim, *, settled: bool, status: str) -> bool:
    """Write down that an answer came: settled, or due again. False: fenced off, write nothing.

    A settled reference is due again in seconds if a `refresh` was asked for since the ask began.
    One that is not settled is never given up while the service itself calls the payment open:
    any `status` but those of a payment that failed.

    Must be the first statement of the transaction that records the answer.
    """
    if settled:
        using = primary_alias(Verification)
        return bool(SETTLE_VERIFICATION.run(using, pk=claim.pk, attempt=claim.attempt))
    again = schedule.again(
        VerificationState.DUE,
        later=None if status in FINAL_FAILURES else schedule.OPEN_EVERY,
        confirmed=status == "reversed",
    )
    return _conclude(claim, last_error="", **again)


def fail(claim: Claim, error: ServiceError, *, known: bool) -> bool:
    """Write down that no usable answer came. False: fenced off by a later attempt.

    - Not asked about: due again in seconds, whatever its age; the schedule spaces asks, and there
      was none.
    - `known` (its transaction is mirrored): never UNKNOWN, because the row would be purged, and
      never given up, because something new was said of it, perhaps a refund.
    - Not known to the service, or refused by it: given up after three days.
    - No answer, or a refused key: never given up, because it says nothing about the payment.
    """
    told = f"{type(error).__name__}: {error}"
    at_least = error.retry_after or 0
    if isinstance(error, NotAsked):
        why = told if isinstance(error, UnusableKey) else str(error)
        next_at = schedule.soon(at_least=at_least)
        return _conclude(claim, state=VerificationState.DUE, next_at=next_at, last_error=why)
    lost = isinstance(error, NotFound) and not known
    state = VerificationState.UNKNOWN if lost else VerificationState.DUE
    for_ever = known or error.retryable or isinstance(error, AuthenticationFailed)
    later = schedule.THEN_EVERY if for_ever else None
    return _conclude(
        claim, last_error=told, **schedule.again(state, at_least=at_least, later=later)
    )


def fail_to_record(claim: Claim, error: Exception) -> bool:
    """Write down that an answer came and could not be recorded. False: fenced off.

    Only the error's class and place are kept: its text may quote the payer.
    """
    later = schedule.again(VerificationState.DUE, later=schedule.THEN_EVERY)
    return _conclude(claim, last_error=f"{Verification.NOT_RECORDED}: {place_of(error)}", **later)


def fence_off(key: str) -> None:
    """Drop the answer of whoever asks the service now: they would write back what was known before.

    The first statement of its transaction, as every guard is. The row stays as it is: who lost
    the fence answers from the database, and a lease that nobody ends is taken over by the sweep.
    """
    Verification.objects.primary().filter(reference_key=key).update(attempts=F("attempts") + 1)


def await_rival(key: str) -> Verification | None:
    """Wait briefly until nobody is asking about this reference; return its row as it is then."""
    give_up = time.monotonic() + RIVAL_PATIENCE
    pause = 0.02
    while (row := find(key)) is not None and row.state == VerificationState.VERIFYING:
        if time.monotonic() >= give_up:
            break
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)
    return row


def is_outdated(row: Verification) -> bool:
    """Say whether the last ask has ended and is older than what somebody trusted said."""
    ended = row.state not in {VerificationState.VERIFYING, VerificationState.SETTLED}
    return ended and row.named_attempt >= row.attempts


def _conclude(claim: Claim, **changes: object) -> bool:
    rows = Verification.objects.primary().filter(
        pk=claim.pk, attempts=claim.attempt, state=VerificationState.VERIFYING
    )
    return bool(change(rows, **changes))


def _lease_end() -> CombinedExpression:
    return from_now(conf.limits.deadline + LEASE_MARGIN)
