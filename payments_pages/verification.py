"""Decide who asks the service about a reference, and write down how it went.

The guard is a conditional UPDATE, the first statement of its transaction: any number of rivals,
one call. `attempts` is the fence: an answer is written only by the attempt that asked for it.
"""

import datetime as dt
import time
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, connections, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.expressions import CombinedExpression

from payments_pages import schedule
from payments_pages.attribution import giving_way
from payments_pages.choices import Door, VerificationState
from payments_pages.conf import conf
from payments_pages.databases import UtcNow, from_now, tried_again
from payments_pages.exceptions import (
    InvalidReference,
    NotAsked,
    NotFound,
    ServiceError,
    UnusableKey,
)
from payments_pages.models import PaymentPage, Transaction, Verification, primary_alias
from payments_pages.models.verifications import VerificationQuerySet
from payments_pages.prepared import (
    INSERT_CLAIMED_VERIFICATION,
    SETTLE_VERIFICATION,
    VERIFICATION_BY_KEY,
)

__all__ = [
    "Claim",
    "ask_again",
    "await_rival",
    "claim",
    "claim_page",
    "claimed_page",
    "fail",
    "fence_off",
    "find",
    "note",
    "receive",
    "refuse_another",
    "settle",
    "vouch",
]

ASK_AT_MOST_EVERY = 2.0
LEASE_MARGIN = 7.0
"""Seconds that the lease outlives the call's deadline: time to write the answer down."""
RIVAL_PATIENCE = 2.0
"""Seconds a loser waits for the winner's answer, instead of telling a payer to come again."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Hold the right to ask once: `attempt` is the fence to write the answer with."""

    pk: int
    attempt: int
    created_at: dt.datetime


def find(key: str) -> Verification | None:
    """Return the row of a reference key from the primary database."""
    return VERIFICATION_BY_KEY.first(primary_alias(Verification), key=key)


def refuse_another(row: Verification, reference: str) -> None:
    """Make sure that the row is this reference's, byte for byte, and not a collation's idea of it.

    Raise `InvalidReference` if it is not.
    """
    if row.reference != reference:
        raise InvalidReference("Another reference is stored under this key.")


def receive(
    reference: str, key: str, *, door: Door, page_claim: UUID | None, vouched: bool
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
    lease = dt.timedelta(seconds=conf.deadline + LEASE_MARGIN)
    using = primary_alias(Verification)
    try:
        tried_again(
            lambda _number: INSERT_CLAIMED_VERIFICATION.run(using, row, lease=lease), using=using
        )
    except IntegrityError:
        theirs = find(key)
        if theirs is None:
            raise
        return theirs, None
    return row, Claim(row.pk, 1, row.created_at)


def note(
    reference: str,
    key: str,
    *,
    door: Door,
    page_claim: UUID | None = None,
    vouched: bool = True,
) -> None:
    """Insert a row that is due soon, or make one due that was given up.

    May be part of a caller's transaction. A row that is there is vouched for from now on, if this
    one is.
    """
    row = find(key)
    if row is not None:
        if vouched:
            vouch(row)
            _revive(row)
        return
    using = primary_alias(Verification)
    row = Verification(
        reference=reference,
        reference_key=key,
        mode=conf.mode,
        state=VerificationState.DUE,
        next_at=schedule.soon(),
        first_door=door,
        vouched=vouched,
        page_claim=page_claim,
    )
    try:
        with transaction.atomic(using=using):  # a savepoint: a rival's row must not spoil theirs
            row.save(using=using, force_insert=True)
    except IntegrityError:
        if find(key) is None and not _is_committed(key):
            raise


def _revive(row: Verification) -> None:
    given_up = [VerificationState.UNKNOWN, VerificationState.LAPSED]
    rows = Verification.objects.primary().filter(pk=row.pk, state__in=given_up)
    _changed(rows, state=VerificationState.DUE, next_at=schedule.soon())


def _is_committed(key: str) -> bool:
    """Look for a row outside the caller's transaction, whose snapshot may hide it (case C23)."""
    rows = Verification.objects.filter(reference_key=key)
    beside = connections[primary_alias(Verification)].copy()
    try:
        return bool(rows.query.get_compiler(connection=beside).has_results())
    finally:
        beside.close()


def claim(row: Verification, *, refresh: bool, vouched: bool) -> Claim | None:
    """Take the right to ask, by compare-and-set; None when somebody else has it or just asked.

    A door asks at once whatever the schedule says, but not twice within two seconds, for a
    payer presses "check again" when it suits them. `refresh` asks about a settled one too.
    """
    asked_long_ago = Q(asked_at__isnull=True) | Q(asked_at__lte=from_now(-ASK_AT_MOST_EVERY))
    states = [VerificationState.DUE, VerificationState.UNKNOWN, VerificationState.LAPSED]
    if refresh:
        states.append(VerificationState.SETTLED)
    free = (
        Verification.objects.primary()
        .filter(pk=row.pk, attempts=row.attempts)
        .filter(
            Q(asked_long_ago, state__in=states)
            | Q(state=VerificationState.VERIFYING, next_at__lte=UtcNow())
        )
    )
    won = _changed(
        free,
        state=VerificationState.VERIFYING,
        attempts=F("attempts") + 1,
        next_at=_lease_end(),
        asked_at=UtcNow(),
        **({"vouched": True} if vouched else {}),
    )
    return Claim(row.pk, row.attempts + 1, row.created_at) if won else None


def claim_page(row: Verification, token: UUID | None, paid: Transaction | None = None) -> None:
    """Note the page a payer came back by; the first claim to a page that fits stays (our decision).

    A token that no page has is no claim, and one that `paid` is not enough for gives way.
    """
    if token is None or row.page_claim == token:
        return
    worse = giving_way(row.page_claim, token, paid)
    named = Exists(PaymentPage.objects.primary().filter(token=OuterRef("page_claim")))
    free = Q(page_claim__isnull=True) | ~named | Q(page_claim__in=worse)
    if _changed(Verification.objects.primary().filter(free, pk=row.pk), page_claim=token):
        row.page_claim = token


def vouch(row: Verification) -> None:
    """Note that somebody vouches for a reference that another is asking about, or just asked.

    Whoever has the claim writes it with that. Who lost it must say so too: nobody's word would
    leave a signed message's reference to the strangers' budget, and to be forgotten after a day.
    """
    if not row.vouched:
        _changed(Verification.objects.primary().filter(pk=row.pk), vouched=True)
        row.vouched = True


def ask_again(row: Verification) -> None:
    """Make a settled reference due: what is new of it was said after the service was asked."""
    settled = Verification.objects.primary().filter(pk=row.pk, state=VerificationState.SETTLED)
    _changed(settled, state=VerificationState.DUE, next_at=schedule.soon())


def settle(held: Claim, *, success: bool) -> bool:
    """Write down that an answer came: settled, or due again. False: fenced off, write nothing.

    Must be the first statement of the transaction that records the answer.
    """
    if success:
        using = primary_alias(Verification)
        return bool(SETTLE_VERIFICATION.run(using, pk=held.pk, attempt=held.attempt))
    return _conclude(held, last_error="", **schedule.again(held.created_at, VerificationState.DUE))


def fail(held: Claim, error: ServiceError, *, known: bool) -> bool:
    """Write down that no usable answer came. False: fenced off by a later attempt.

    A reference that is `known`, for its transaction is mirrored, never becomes an unknown one:
    it would be purged with those; nor is it given up, for something new was said of it, perhaps a
    refund. One that was not asked about is due again in seconds, whatever its age: the schedule
    spaces asks, and there was none.
    """
    told = f"{type(error).__name__}: {error}"
    if isinstance(error, NotAsked):
        why = told if isinstance(error, UnusableKey) else str(error)
        next_at = schedule.soon(at_least=error.retry_after or 0)
        return _conclude(held, state=VerificationState.DUE, next_at=next_at, last_error=why)
    lost = isinstance(error, NotFound) and not known
    state = VerificationState.UNKNOWN if lost else VerificationState.DUE
    at_least = error.retry_after or 0
    again = schedule.again(held.created_at, state, at_least=at_least, for_ever=known)
    return _conclude(held, last_error=told, **again)


def claimed_page(held: Claim) -> UUID | None:
    """Return the page claimed by now: the payer may have come back while we asked."""
    row = Verification.objects.primary().filter(pk=held.pk).values_list("page_claim", flat=True)
    return row.first()


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


def _conclude(held: Claim, **changes: object) -> bool:
    mine = Verification.objects.primary().filter(
        pk=held.pk, attempts=held.attempt, state=VerificationState.VERIFYING
    )
    return bool(_changed(mine, **changes))


def _changed(rows: VerificationQuerySet, **changes: object) -> int:
    """Change rows by one statement; where the server makes each a snapshot, a rival may undo it."""
    return tried_again(lambda _number: rows.update(**changes), using=primary_alias(Verification))


def _lease_end() -> CombinedExpression:
    return from_now(conf.deadline + LEASE_MARGIN)
