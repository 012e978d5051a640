"""Open a delivery, claim the right to make it, and keep this claim.

Every change is a conditional UPDATE on the number of the attempt. This number is the fence: it only
rises.
"""

import datetime as dt

from django.db.models import F, Q
from django.db.models.lookups import Exact

from payments_pages.choices import FulfilmentState, Outcome, Reason, Verdict
from payments_pages.conf import conf
from payments_pages.confirmation import rivals, schedule
from payments_pages.confirmation.outcomes import outcome_of
from payments_pages.confirmation.policy import POLICY_REASONS, QUIET_REASONS, Decision
from payments_pages.confirmation.statements import (
    INSERT_ACCEPTED_FULFILMENT,
    INSERT_DELIVERED_FULFILMENT,
)
from payments_pages.db import (
    Unindexed,
    UtcNow,
    change_unless_held,
    from_now,
    refuse_open_transaction,
    retry_transient,
)
from payments_pages.models import (
    Fulfilment,
    FulfilmentQuerySet,
    Transaction,
    is_site_known,
    primary_alias,
)

__all__ = [
    "await_delivery",
    "claim",
    "claimed",
    "ended",
    "is_claimable",
    "is_quiet",
    "loud_holds",
    "open_fulfilment",
    "renew_lease",
    "revise",
    "stands",
    "unmoved",
]

EARLY_ATTEMPTS = 4
"""Attempts that a door may make at once, although the next one is not due yet."""


def open_fulfilment(
    transaction: Transaction, decision: Decision, *, accepted_as: FulfilmentState
) -> Fulfilment | None:
    """Insert the fulfilment that a decision demands, and return it; None if it says wait.

    - Not accepted: it is held. If nothing says what it pays for, staff are told after a grace.
    - Accepted as `DELIVERED`: the first attempt is made in this very transaction.
    - Accepted as `DELIVERING`: this caller has the claim to the first attempt. If its process dies,
      the lease ends and the sweep delivers.
    - Accepted as `PENDING`: it is due now, and any caller may claim it.
    """
    if decision.verdict is Verdict.WAIT:
        return None
    fulfilment = Fulfilment(
        transaction=transaction,
        reference_key=transaction.reference_key,
        state=FulfilmentState.HELD,
        reason=decision.reason,
        overpaid=decision.overpaid,
    )
    if decision.verdict is not Verdict.ACCEPT:
        if decision.reason is Reason.UNATTRIBUTED:
            fulfilment.next_at = schedule.grace_end()
        fulfilment.save(force_insert=True)
        vars(fulfilment).pop("next_at")  # read when asked for
        return fulfilment
    using = primary_alias(Fulfilment)
    pending = accepted_as == FulfilmentState.PENDING
    fulfilment.state = accepted_as
    fulfilment.attempts = 0 if pending else 1
    if accepted_as == FulfilmentState.DELIVERED:
        INSERT_DELIVERED_FULFILMENT.run(using, fulfilment)
    else:
        lease = dt.timedelta(seconds=0 if pending else conf.lease)
        INSERT_ACCEPTED_FULFILMENT.run(using, fulfilment, lease=lease)
    return fulfilment


def revise(fulfilment: Fulfilment, decision: Decision) -> bool:
    """Apply a new decision to a hold that the policy made, or to a delivery that is still open.

    Never change a fulfilment that is delivered or rejected, or whose delivery is under way. A
    delivery whose lease has ended is not under way (docs/cases.md C14: reversed before it was
    delivered). After a decision of staff, only stop a payment that is no longer a success.

    Return False, and change nothing:

    - if the decision does not allow a change;
    - if the state, the reason or the attempt has changed since the decision was made;
    - if another transaction has locked the row: its handler is running, even after its lease.
    """
    accepted = decision.verdict is Verdict.ACCEPT
    if not _may_revise(fulfilment, decision):
        return False
    state, reason = (
        (FulfilmentState.PENDING, Reason.NONE)
        if accepted
        else (FulfilmentState.HELD, decision.reason)
    )
    seen = unmoved(fulfilment)
    if fulfilment.state == FulfilmentState.DELIVERING:
        seen = seen.filter(next_at__lte=UtcNow())
    changed = change_unless_held(
        seen,
        fulfilment.pk,
        state=state,
        reason=reason,
        overpaid=decision.overpaid,
        next_at=UtcNow() if accepted else None,
    )
    if changed:
        fulfilment.state, fulfilment.reason = state, reason
    return bool(changed)


def mark_money_back(pk: int) -> bool:
    """Record that money went back, or may go back: once it is delivered staff must see it.

    Return False, and record nothing, if another transaction has locked the row: its handler is
    running.
    """
    rows = Fulfilment.objects.primary()
    # The newest time: what staff have seen is what was told until then.
    changed = change_unless_held(rows, pk, money_back_at=UtcNow(), money_back_unseen=True)
    return changed is not None


def is_quiet(fulfilment: Fulfilment) -> bool:
    """Say whether a hold needs no decision of staff, because another site delivers the payment.

    Staff must look if this site created the page: then the page's address was changed, or this
    database is a copy. They must also look if it is not known which site this is.
    """
    page = fulfilment.transaction.page
    made_here = page is not None and page.made_here
    return fulfilment.reason in QUIET_REASONS and is_site_known() and not made_here


def loud_holds() -> Q:
    """Return the condition on the policy's holds that staff must decide: those not quiet."""
    loud = Q(reason__in=POLICY_REASONS - QUIET_REASONS)
    if not is_site_known():
        return Q(reason__in=POLICY_REASONS)
    return loud | Q(reason__in=QUIET_REASONS, transaction__page__made_here=True)


def stands(fulfilment: Fulfilment, decision: Decision) -> bool:
    """Say whether the fulfilment is already held with exactly this decision."""
    return (
        fulfilment.state == FulfilmentState.HELD
        and decision.verdict is not Verdict.ACCEPT
        and (fulfilment.reason, fulfilment.overpaid) == (decision.reason, decision.overpaid)
    )


def _may_revise(fulfilment: Fulfilment, decision: Decision) -> bool:
    if fulfilment.decided_by and decision.verdict is not Verdict.WAIT:
        return False
    if fulfilment.state == FulfilmentState.HELD:
        return fulfilment.reason in POLICY_REASONS
    return fulfilment.state in FulfilmentState.open() and decision.verdict is not Verdict.ACCEPT


def unmoved(fulfilment: Fulfilment) -> FulfilmentQuerySet:
    """Return a queryset of the row, empty if its state, reason or attempt has changed since."""
    return Fulfilment.objects.primary().filter(
        _is_in(fulfilment.state), reason=fulfilment.reason, attempts=fulfilment.attempts
    )


def claim(fulfilment: Fulfilment) -> bool | None:
    """Claim the right to run the handler, until the lease ends.

    Return True if this caller has the claim, False if it cannot have it (a rival has it, or no
    attempt is allowed now), and None at once if another transaction has locked the row: its handler
    is running, even if the lease has ended, or it is about to claim.

    A failed delivery may be tried again at once until it has had `EARLY_ATTEMPTS` attempts
    (docs/cases.md C12), after that only when it is due, so that a payer who reloads cannot use up
    all attempts in a minute. The condition on `attempts` lets only one of several rivals win.
    """
    soon = Q(attempts__lt=EARLY_ATTEMPTS) | Q(next_at__lte=UtcNow())
    free = Fulfilment.objects.primary().filter(
        _is_in(FulfilmentState.PENDING)
        | (soon & _is_in(FulfilmentState.FAILED))
        | Q(_is_in(FulfilmentState.DELIVERING), next_at__lte=UtcNow()),
        attempts=fulfilment.attempts,
    )
    won = change_unless_held(
        free,
        fulfilment.pk,
        state=FulfilmentState.DELIVERING,
        attempts=F("attempts") + 1,
        next_at=from_now(conf.lease),
    )
    if won:
        fulfilment.attempts += 1
        fulfilment.state = FulfilmentState.DELIVERING
    return None if won is None else bool(won)


def await_delivery(fulfilment: Fulfilment, *, patient: bool = True) -> Outcome:
    """Wait briefly for the caller that has the claim; return the outcome that is true then.

    - Wait only if the caller is `patient`. A sweep is not: it takes the next row.
    - Wait only if the attempt began less than `RIVAL_PATIENCE` seconds ago. An older attempt may
      never end, and each caller that waits for it occupies a thread.
    """
    rows = Fulfilment.objects.primary().filter(pk=fulfilment.pk)
    began_just_now = Q(next_at__gt=from_now(conf.lease - rivals.RIVAL_PATIENCE))
    busy = rows.filter(began_just_now, state=FulfilmentState.DELIVERING)
    if patient:
        rivals.wait_while(busy.exists, bool)
    return outcome_of(rows.get())


def is_claimable(fulfilment: Fulfilment, *, due: bool) -> bool:
    """Say whether a claim may succeed. `due`: `next_at` has passed, by the database's clock."""
    if fulfilment.state == FulfilmentState.DELIVERING:
        return due  # then the lease has ended, and a new attempt may begin
    return fulfilment.state in FulfilmentState.waiting()


def claimed(fulfilment: Fulfilment) -> FulfilmentQuerySet:
    """Return a queryset of the row, empty if the claim of `fulfilment.attempts` is no longer valid.

    Every write under a claim uses it. It is empty after a later attempt, a decision of staff or a
    delivery. That is the fence.
    """
    return Fulfilment.objects.primary().filter(
        _is_in(FulfilmentState.DELIVERING), pk=fulfilment.pk, attempts=fulfilment.attempts
    )


def _is_in(state: str) -> Q:
    """Return the condition on the state, in a form that keeps the database from using its index.

    By that index the statement might have to wait for the lock of another row.
    """
    return Q(Exact(Unindexed("state"), state))


def renew_lease(fulfilment: Fulfilment) -> bool:
    """Start the lease of `LEASE` seconds anew. An external handler calls it during long work.

    Call it more than once in `LEASE` seconds. Return whether the lease was renewed. If it was not,
    the lease has ended or a later attempt has the delivery: stop, because the rest may be done
    twice at the same time, and raise an error, so that the attempt does not count as a delivery.

    If `HANDLER_ATOMIC` is on, do nothing and return True: the handler's transaction has locked the
    row, so no lease is needed.

    Raise `OpenTransactionError` inside a transaction that the handler opened, because others would
    see the new lease only after its commit.
    """
    if conf.handler_atomic:
        return True
    refuse_open_transaction("renew_lease() was called")
    unexpired = claimed(fulfilment).filter(next_at__gt=UtcNow())
    # A rival that looks at the row may lock it for a moment. We wait for that lock, because this
    # caller still has the lease.
    renewed = retry_transient(
        lambda _number: unexpired.update(next_at=from_now(conf.lease)),
        using=primary_alias(Fulfilment),
    )
    return bool(renewed)


def ended(fulfilment: Fulfilment, state: FulfilmentState) -> FulfilmentQuerySet:
    """Return a queryset of the row, empty unless this attempt has ended in this state."""
    return Fulfilment.objects.primary().filter(
        pk=fulfilment.pk, attempts=fulfilment.attempts, state=state
    )
