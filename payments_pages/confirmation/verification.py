"""Decide which caller asks the service about a reference, and record how the attempt ended.

The guard is a conditional UPDATE, the first statement of its transaction: one of any number of
rivals asks. `attempts` is the fence: only the latest attempt may write its answer.
"""

import datetime as dt
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F, Q
from django.db.models.expressions import CombinedExpression

from payments_pages.choices import Door, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation import rivals, schedule
from payments_pages.confirmation.inbox import change, find, first_signed_success
from payments_pages.confirmation.policy import FINAL_FAILURES
from payments_pages.confirmation.statements import (
    INSERT_CLAIMED_VERIFICATION,
    INSERT_SIGNED_VERIFICATION,
    SETTLE_VERIFICATION,
)
from payments_pages.db import HeldRowError, UtcNow, change_unless_held, from_now, retry_transient
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
    "ask_again",
    "await_rival",
    "began_just_now",
    "claim",
    "fail",
    "fail_to_record",
    "fence_off",
    "is_outdated",
    "receive",
    "settle",
]

ASK_AT_MOST_EVERY = 2.0
"""Seconds between two attempts of callers that are not vouched for, at least."""
LONGEST_PAUSE = 60.0
"""Seconds to which that pause grows: a payment that was abandoned may be made a minute later."""
LEASE_MARGIN = 7.0
"""Seconds from the deadline of the call to the end of the lease: the time to record the answer."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to ask once. The answer is recorded only if no later attempt has begun."""

    pk: int
    attempt: int


def receive(
    reference: str,
    key: str,
    *,
    door: Door,
    page_hint: UUID | None,
    vouched: bool,
    signed_success: bool = False,
    says_paid: bool = False,
) -> tuple[Verification, Claim | None]:
    """Insert the row already claimed, in one statement. Return it with the claim.

    If a rival was first, return its row and None. Raise any other `IntegrityError`: to take it for
    a duplicate would lose the payment.
    """
    row = Verification(
        reference=reference,
        reference_key=key,
        mode=conf.mode,
        state=VerificationState.VERIFYING,
        attempts=1,
        first_door=door,
        vouched=vouched,
        said_paid=says_paid,
        page_claim=page_hint,
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
    row: Verification,
    *,
    refresh: bool,
    vouched: bool,
    signed_success: bool = False,
    says_paid: bool = False,
    is_anonymous: bool = False,
) -> Claim | None:
    """Claim the right to ask; return None if a rival has it or has just asked.

    Raise `HeldRowError` if another transaction has locked the row: it records an answer, or its
    handler is running, and nobody waits for it.

    - A door asks at once, before the time of the schedule.
    - It does not ask within `ASK_AT_MOST_EVERY` seconds of the last attempt, because a payer may
      press "check again" often; unless a trusted caller has named the reference since that attempt
      began. If the caller `is_anonymous` (a client that anybody may be), this pause grows with the
      attempts.
    - `vouched`: this caller is trusted and names the reference now. It may ask in these seconds,
      too, and the schedule starts anew.
    - `says_paid`: the caller believes it to be paid, which is kept (`Verification.said_paid`).
    - A reference that was given up is asked about again, and its schedule starts anew.
    - `refresh`: ask about a settled reference, too.
    - A claim whose lease has ended may be taken over.
    """
    free = Q(schedule.named_meanwhile()) | Q(asked_at__isnull=True)
    free |= Q(asked_at__lte=from_now(-(_pause(row) if is_anonymous else ASK_AT_MOST_EVERY)))
    states = [VerificationState.DUE, VerificationState.UNKNOWN, *VerificationState.given_up()]
    if refresh:
        states.append(VerificationState.SETTLED)
    claimable = Q(state__in=states) if vouched else Q(free, state__in=states)
    abandoned = Q(state=VerificationState.VERIFYING, next_at__lte=UtcNow())
    changes: dict[str, object] = {
        # Before `attempts`: in MariaDB and MySQL a later expression reads the new value.
        **({"named_attempt": F("attempts")} if vouched else {}),
        "state": VerificationState.VERIFYING,
        "attempts": F("attempts") + 1,
        "next_at": _lease_end(),
        "asked_at": UtcNow(),
    }
    if vouched:
        changes["vouched"] = True
    if says_paid:
        changes["said_paid"] = True
    if vouched or row.state in VerificationState.given_up():
        changes["named_at"] = UtcNow()
    if signed_success:
        changes["signed_success_at"] = first_signed_success()
    unmoved = Verification.objects.primary().filter(attempts=row.attempts)
    won = change_unless_held(unmoved.filter(claimable | abandoned), row.pk, **changes)
    if won is None:
        raise HeldRowError("Another transaction has locked the verification.")
    return Claim(row.pk, row.attempts + 1) if won else None


def _pause(row: Verification) -> float:
    """Return the seconds after the last attempt until an anonymous caller may make the next one.

    They double from the third attempt on, counted since a trusted caller last named the reference.
    """
    fruitless = row.attempts - row.named_attempt
    doubled: float = ASK_AT_MOST_EVERY * 2 ** min(max(fruitless - 2, 0), 10)
    return min(doubled, max(LONGEST_PAUSE, ASK_AT_MOST_EVERY))


def settle(claim: Claim, *, settled: bool, status: str) -> bool:
    """Record that an answer came: the reference is settled, or due again.

    Return False if a later attempt has the claim; the caller must then write nothing. Must be the
    first statement of the transaction that records the answer.

    - A settled reference is due again in seconds if a refresh was requested since the attempt
      began.
    - One that is not settled is never given up while the service calls the payment open: this is
      each `status` that is not a failure.
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


def ask_again(claim: Claim) -> None:
    """Let the sweep ask once more when a lease has passed, although the reference is settled.

    May be called in the transaction that has settled it.
    """
    rows = Verification.objects.primary().filter(pk=claim.pk, attempts=claim.attempt)
    rows.update(state=VerificationState.DUE, next_at=from_now(conf.lease))


def fail(claim: Claim, error: ServiceError, *, known: bool) -> bool:
    """Record that no usable answer came. Return False if a later attempt has the claim.

    - No call was made (`NotAsked`): due again in seconds, at any age, because the schedule is about
      calls.
    - The transaction is already mirrored (`known`): never UNKNOWN, because the row would be purged,
      and never given up, because a refund may have been announced.
    - The service does not know the reference, or refused the call: given up after three days.
    - The service did not answer, or refused our key: never given up, because this says nothing
      about the payment.
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
    """Record that an answer came and could not be saved.

    Return False if a later attempt has the claim. Only the error's class and place are stored,
    because its text may quote the payer.
    """
    later = schedule.again(VerificationState.DUE, later=schedule.THEN_EVERY)
    return _conclude(claim, last_error=f"{Verification.NOT_RECORDED}: {place_of(error)}", **later)


def fence_off(key: str) -> None:
    """End the claim of the attempt under way: its answer would overwrite newer data.

    Must be the first statement of its transaction. The state of the row stays. The attempt that
    lost its claim answers from the database; when its lease ends, the sweep asks again.
    """
    Verification.objects.primary().filter(reference_key=key).update(attempts=F("attempts") + 1)


def await_rival(key: str, *, has_lock: bool = False) -> Verification | None:
    """Wait briefly until no rival asks about this reference; return its row then, or None.

    `has_lock`: it has had its answer, and keeps the row locked while its handler runs.
    """
    wait = rivals.wait_while if has_lock else rivals.poll
    return wait(lambda: find(key), _is_asked)


def began_just_now(row: Verification) -> bool:
    """Say whether the last attempt began less than `RIVAL_PATIENCE` seconds ago, by the database."""
    recent = Verification.objects.primary().filter(asked_at__gt=from_now(-rivals.RIVAL_PATIENCE))
    return recent.filter(pk=row.pk).exists()


def _is_asked(row: Verification | None) -> bool:
    return row is not None and row.state == VerificationState.VERIFYING


def is_outdated(row: Verification, named: int | None) -> bool:
    """Say whether the last attempt has ended and began before a trusted caller named the row.

    `named` is the attempt that had begun when this caller named it. None: it could not name it, and
    the caller that named it last counts.
    """
    ended = row.state not in {VerificationState.VERIFYING, VerificationState.SETTLED}
    return ended and (row.named_attempt if named is None else named) >= row.attempts


def _conclude(claim: Claim, **changes: object) -> bool:
    rows = Verification.objects.primary().filter(
        pk=claim.pk, attempts=claim.attempt, state=VerificationState.VERIFYING
    )
    return bool(change(rows, **changes))


def _lease_end() -> CombinedExpression:
    return from_now(conf.limits.deadline + LEASE_MARGIN)
