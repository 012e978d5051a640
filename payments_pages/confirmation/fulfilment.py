"""Hold the right to give the value, once: open the delivery, claim it, keep the claim.

Every change is a compare-and-set on the attempt's number, the fence: it only rises.
"""

import datetime as dt

from django.db.models import F, Q
from django.db.models.lookups import Exact

from payments_pages.choices import FulfilmentState, Outcome, Reason, Verdict
from payments_pages.conf import conf
from payments_pages.confirmation.outcomes import outcome_of
from payments_pages.confirmation.policy import POLICY_REASONS, QUIET_REASONS, Decision
from payments_pages.confirmation.rivals import wait_while
from payments_pages.confirmation.statements import INSERT_ACCEPTED_FULFILMENT
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
    "UNFINISHED",
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

RIVAL_PATIENCE = 2.0
"""Seconds after an attempt's beginning for which others wait for its end."""


EARLY_ATTEMPTS = 4
"""Attempts that a door may make before the backoff allows the next one."""


UNFINISHED = frozenset(
    {FulfilmentState.PENDING, FulfilmentState.FAILED, FulfilmentState.DELIVERING}
)


def open_fulfilment(
    transaction: Transaction, decision: Decision, *, claim: bool
) -> Fulfilment | None:
    """Insert the delivery that a decision calls for; None when it says wait.

    Accepted with `claim`: inserted already claimed by this caller, whose attempt is 1; if the
    caller dies, the lease ends and the sweep takes it. Accepted without: due now, for whoever
    claims it.
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
        fulfilment.save(force_insert=True)
        return fulfilment
    fulfilment.state = FulfilmentState.DELIVERING if claim else FulfilmentState.PENDING
    fulfilment.attempts = 1 if claim else 0
    lease = dt.timedelta(seconds=conf.lease if claim else 0)
    INSERT_ACCEPTED_FULFILMENT.run(primary_alias(Fulfilment), fulfilment, lease=lease)
    return fulfilment


def revise(fulfilment: Fulfilment, decision: Decision) -> bool:
    """Let new facts change a hold that the policy made, or stop what is not delivered yet.

    Never touch what is delivered, being delivered, or decided by staff; a delivery whose lease
    has ended is not being delivered (docs/cases.md C14: reversed before it was given). Compare-and-set on the
    state, reason and attempt that the decision was made against; False when they have moved on,
    or somebody holds the row: a handler is at work in it, whatever its lease says.
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


def is_quiet(fulfilment: Fulfilment) -> bool:
    """Say whether a hold waits for nobody: another site is known to deliver what was paid.

    Not for a page that this site had made: its address was moved, or this is a copy of its
    database. Nor while nobody can tell which site this is. Then staff must look.
    """
    page = fulfilment.transaction.page
    made_here = page is not None and page.made_here
    return fulfilment.reason in QUIET_REASONS and is_site_known() and not made_here


def loud_holds() -> Q:
    """Return the condition on what is held by the policy and waits for a person."""
    loud = Q(reason__in=POLICY_REASONS - QUIET_REASONS)
    if not is_site_known():
        return Q(reason__in=POLICY_REASONS)
    return loud | Q(reason__in=QUIET_REASONS, transaction__page__made_here=True)


def stands(fulfilment: Fulfilment, decision: Decision) -> bool:
    """Say whether a decision is the hold that it is under already, so that there is nothing new."""
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
    return fulfilment.state in UNFINISHED and decision.verdict is not Verdict.ACCEPT


def unmoved(fulfilment: Fulfilment) -> FulfilmentQuerySet:
    """Select the row while its state, reason and attempt are those that `fulfilment` has."""
    return Fulfilment.objects.primary().filter(
        _is_in(fulfilment.state), reason=fulfilment.reason, attempts=fulfilment.attempts
    )


def claim(fulfilment: Fulfilment) -> bool | None:
    """Take the exclusive, expiring right to run the handler; False when somebody else has it.

    None, at once, when somebody holds the row itself: a handler is at work in it, whatever its
    lease says, or another caller is about to take it.

    A failed delivery is tried at once when a door comes back for it (docs/cases.md C12), the first few
    times; after that only when it is due, so that a payer who reloads cannot spend all attempts
    in a minute. `attempts` in the condition lets one of many rivals win each round.
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


def await_delivery(fulfilment: Fulfilment) -> Outcome:
    """Wait briefly for the caller that holds the claim; name what is true then.

    Only while the attempt is young: one that has run for longer may do so for ever, and each
    who waited for it would hold a thread.
    """
    rows = Fulfilment.objects.primary().filter(pk=fulfilment.pk)
    began_just_now = Q(next_at__gt=from_now(conf.lease - RIVAL_PATIENCE))
    busy = rows.filter(began_just_now, state=FulfilmentState.DELIVERING)
    wait_while(busy.exists, patience=RIVAL_PATIENCE)
    return outcome_of(rows.get())


def is_claimable(fulfilment: Fulfilment, *, due: bool) -> bool:
    """Say whether a claim may succeed; `due` says that `next_at` has come, by the database."""
    if fulfilment.state == FulfilmentState.DELIVERING:
        return due  # the lease has ended: its holder is gone
    return fulfilment.state in {FulfilmentState.PENDING, FulfilmentState.FAILED}


def claimed(fulfilment: Fulfilment) -> FulfilmentQuerySet:
    """Select the row while the claim that `fulfilment.attempts` stands for has not been passed by.

    Every write under a claim goes through this: a later attempt, a decision of staff or a
    delivery leaves it empty. That is the fence.
    """
    return Fulfilment.objects.primary().filter(
        _is_in(FulfilmentState.DELIVERING), pk=fulfilment.pk, attempts=fulfilment.attempts
    )


def _is_in(state: str) -> Q:
    """Say so without an index on the state, where the lock of another row might be met."""
    return Q(Exact(Unindexed("state"), state))


def renew_lease(fulfilment: Fulfilment) -> bool:
    """Start the lease of `LEASE` seconds anew, from inside an external handler's long work.

    Call it more often than the lease is long. False: the lease has ended or a later attempt has
    the delivery; stop, for what follows may be done twice at the same time, and raise, so that
    nothing is taken for delivered. With `HANDLER_ATOMIC` on there is nothing to renew, for the
    handler's transaction holds the row itself: True.

    Raise `OpenTransactionError` inside a transaction of the handler's own: others would see the
    renewal only after its commit.
    """
    if conf.handler_atomic:
        return True
    refuse_open_transaction("renew_lease() was called")
    unexpired = claimed(fulfilment).filter(next_at__gt=UtcNow())
    # A rival's look holds the row for a moment: that is waited for, because the lease is ours.
    renewed = retry_transient(
        lambda _number: unexpired.update(next_at=from_now(conf.lease)),
        using=primary_alias(Fulfilment),
    )
    return bool(renewed)


def ended(fulfilment: Fulfilment, state: FulfilmentState) -> FulfilmentQuerySet:
    """Select the row if this very attempt has ended in a state."""
    return Fulfilment.objects.primary().filter(
        pk=fulfilment.pk, attempts=fulfilment.attempts, state=state
    )
