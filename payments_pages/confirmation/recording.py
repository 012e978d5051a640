"""Record an answer of the service: attribute, mirror, decide and open, in one transaction.

The first statement ends the attempt, if its claim is still valid; only then is the rest written. No
call to the service is made here. The transaction is short, unless it delivers, too
(`first_delivery`).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import DatabaseError, IntegrityError
from django.db import transaction as db_transaction

from payments_pages.choices import Attributed, Door, EventKind, FulfilmentState, Reason, Verdict
from payments_pages.client import TransactionResource
from payments_pages.conf import conf
from payments_pages.confirmation.attribution import (
    Attribution,
    attribute,
)
from payments_pages.confirmation.cards import save_card
from payments_pages.confirmation.evidence import (
    attribution_of,
    decide_about,
    decision_on,
    evidence_of,
)
from payments_pages.confirmation.fulfilment import (
    mark_money_back,
    open_fulfilment,
    revise,
    stands,
)
from payments_pages.confirmation.inbox import page_hint_of
from payments_pages.confirmation.mirror import (
    attach,
    counted,
    find_transaction,
    merge_answer,
    write,
)
from payments_pages.confirmation.policy import Decision
from payments_pages.confirmation.service_events import told_of_money_back
from payments_pages.confirmation.timeline import Line, announce, append_to_timeline, lines_about
from payments_pages.confirmation.verification import Claim, ask_again, fence_off, settle
from payments_pages.db import is_transient, retry_transient
from payments_pages.models import (
    Fulfilment,
    PaymentPage,
    Transaction,
    fulfilment_of,
    primary_alias,
)

__all__ = ["LIFTABLE", "Recorded", "assign", "reconsider", "record", "tell"]

logger = logging.getLogger("payments_pages.recording")


Give = Callable[[Fulfilment, Sequence[Line]], object]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was written. `delivery` is the fulfilment if this caller delivers it, or has done so."""

    transaction: Transaction
    delivery: Fulfilment | None


def record(
    claim: Claim,
    resource: TransactionResource,
    *,
    key: str,
    existing: Transaction | None,
    page_hint: UUID | None,
    door: Door,
    actor: str = "",
    accepted_as: FulfilmentState = FulfilmentState.DELIVERING,
    give: Give | None = None,
) -> Recorded | None:
    """Record a verified answer; return None, and write nothing, if a later attempt has the claim.

    - `existing` is the mirrored transaction as it was when the claim was taken.
    - `accepted_as` is the state of a new delivery: claimed for this caller (`DELIVERING`), or due,
      so that any caller may claim it (`PENDING`); or `DELIVERED`, with `give`.
    - `give` makes a new delivery in the same transaction: it gets the fulfilment, and the lines that
      it must append to the timeline before its own. If it raises an error, nothing is written, and
      the error is raised. With `give` nothing is tried again here, because the error may be the
      handler's.
    - A payment that is not a success is mirrored and asked about again. No delivery is opened.
    - If a deadlock undoes the transaction, it is tried again.
    - If the database refuses the answer, it is recorded again in ASCII, which a column of any
      character set can store: no payment is lost because of a text.
    """
    using = primary_alias(Fulfilment)
    once = partial(
        _record,
        claim,
        key=key,
        page_hint=page_hint,
        door=door,
        actor=actor,
        accepted_as=accepted_as,
        give=give,
    )
    if give is not None:
        return once(resource, existing)
    try:
        # After a rollback the mirror must be read again.
        return retry_transient(
            lambda number: once(resource, _mirrored(key) if number else existing),
            using=using,
        )
    except DatabaseError as error:
        if is_transient(error):
            raise
        # An IntegrityError: staff deleted the verification, and the transaction is still there.
        stored = resource if isinstance(error, IntegrityError) else resource.in_ascii()
    return retry_transient(lambda _number: once(stored, _mirrored(key)), using=using)


def _mirrored(key: str) -> Transaction | None:
    found = find_transaction(key)
    return found.transaction if found is not None else None


def _record(
    claim: Claim,
    resource: TransactionResource,
    existing: Transaction | None,
    *,
    key: str,
    page_hint: UUID | None,
    door: Door,
    actor: str,
    accepted_as: FulfilmentState,
    give: Give | None,
) -> Recorded | None:
    """Record the answer in one transaction, and send the signals after its commit."""
    before = existing.status if existing else ""
    settled = resource.status == "success" or before in {"success", "reversed"}
    with db_transaction.atomic(using=primary_alias(Fulfilment), durable=True):
        if not settle(claim, settled=settled, status=resource.status):
            return None
        attribution = attribution_of(existing, evidence_of(resource, key, page_hint))
        if attribution.by is Attributed.NONE:
            # The payer may have come back by a page's callback while we asked.
            attribution = attribute(
                evidence_of(resource, key, page_hint_of(claim.pk)), conf.attribution
            )
        counted_before = counted(existing) if existing else None
        transaction = merge_answer(existing, resource, key=key, attribution=attribution)
        # The decision comes before the INSERT: it updates the expected payment's row. On MariaDB an
        # INSERT with a foreign key to that row, before the UPDATE, would let rivals deadlock.
        decision = decide_about(transaction, attribution)
        write(transaction, before=counted_before)
        fulfilment = fulfilment_of(existing)
        opened = fulfilment is None
        if fulfilment is None:
            fulfilment = open_fulfilment(transaction, decision, accepted_as=accepted_as)
            changed = fulfilment is not None
            # An event is taken when an attempt has ended: before the first one there is none.
            if fulfilment is not None and claim.attempt > 1 and told_of_money_back(key):
                mark_money_back(fulfilment.pk)
        else:
            changed = not stands(fulfilment, decision) and revise(fulfilment, decision)
            if _is_reversal(transaction, before, fulfilment) and not mark_money_back(fulfilment.pk):
                ask_again(claim)  # its handler is running; it can be marked after that
        news = decision if changed else None
        lines = lines_about(transaction, before, news, attempt=claim.attempt)
        is_new = opened and changed and decision.verdict is Verdict.ACCEPT
        if give is not None and fulfilment is not None and is_new:
            give(fulfilment, lines)
        else:
            append_to_timeline(key, *lines, door=door, actor=actor)
        save_card(transaction, resource.card_code, before=before, door=door)
    changed_one = fulfilment if changed else None
    tell(
        transaction, decision, before, changed_one, opened=opened, attempt=claim.attempt, door=door
    )
    is_mine = is_new and accepted_as != FulfilmentState.PENDING
    return Recorded(transaction, fulfilment if is_mine else None)


def _is_reversal(transaction: Transaction, before: str, fulfilment: Fulfilment) -> bool:
    """Say whether this is the first answer that calls the payment reversed, or none was marked."""
    is_new = before != "reversed" or fulfilment.money_back_at is None
    return transaction.status == "reversed" and is_new


def tell(
    transaction: Transaction,
    decision: Decision,
    before: str,
    changed: Fulfilment | None,
    *,
    opened: bool,
    attempt: int,
    door: Door,
) -> None:
    """Log what was recorded and send the signals, after the commit.

    `before` is the status that was mirrored before, `changed` the fulfilment if it was `opened` or
    changed.
    """
    logger.info(
        "payment.recorded: %s: %s, %s",
        transaction.reference,
        transaction.status,
        decision.verdict,
        extra={
            "reference": transaction.reference,
            "status": transaction.status,
            "verdict": str(decision.verdict),
            "reason": str(decision.reason),
            "attempt": attempt,
            "door": str(door),
        },
    )
    announce(transaction, before, changed, opened=opened)


LIFTABLE = frozenset({Reason.UNATTRIBUTED, Reason.PAGE_NOT_ON_SALE, Reason.OTHER_SITE})
"""Reasons of holds that may end without a new answer of the service, when a page has changed."""


def reconsider(transaction: Transaction, *, page_hint: UUID | None, door: Door) -> bool:
    """Decide again without a new answer of the service; return whether the fulfilment has changed.

    A new decision is made in these cases:

    - It is held as unattributed, and there is now a page hint: a webhook may come before the payer,
      and then nothing says what was paid for until the payer comes back (our decision).
    - It is held because of its page, and the page is on sale again, or staff said that this site
      sells it.
    - It is held, and the page hint by which it was attributed has been replaced.
    - It is not delivered, and the payment is no longer a success: it was reversed during an attempt
      that failed (docs/cases.md C14), or after its attempts were spent. Also if staff have approved
      it: it was a success then.
    """
    fulfilment = fulfilment_of(transaction)
    if fulfilment is None:
        return False
    stopped = fulfilment.state in FulfilmentState.open() and transaction.status != "success"
    held = fulfilment.state == FulfilmentState.HELD
    if not held and not stopped:
        return False
    evidence = evidence_of(transaction, transaction.reference_key, page_hint)
    attribution = attribution_of(transaction, evidence)
    if held and not _is_new(transaction, fulfilment, attribution):
        return False
    return _revise(transaction, fulfilment, attribution, door=door)


def _is_new(transaction: Transaction, fulfilment: Fulfilment, attribution: Attribution) -> bool:
    """Say whether a hold must be decided again: its attribution or its page has changed."""
    if _is_other(transaction, attribution):
        return True
    if fulfilment.reason == Reason.ATTRIBUTION_CONFLICT:
        return not attribution.conflict
    return fulfilment.reason in LIFTABLE and not stands(
        fulfilment, decision_on(transaction, attribution)
    )


def _is_other(transaction: Transaction, attribution: Attribution) -> bool:
    known = (transaction.attributed_by, transaction.page, transaction.expected_payment)
    return known != (attribution.by, attribution.page, attribution.expected)


def _revise(
    transaction: Transaction, fulfilment: Fulfilment, attribution: Attribution, *, door: Door
) -> bool:
    state, reason = fulfilment.state, fulfilment.reason
    new = _is_other(transaction, attribution)

    @db_transaction.atomic(using=primary_alias(Fulfilment), durable=True)
    def once(_number: int) -> bool:
        fulfilment.state, fulfilment.reason = state, reason
        decision = decide_about(transaction, attribution)
        if not revise(fulfilment, decision):
            return False
        if new:
            attach(transaction, attribution)
        lines = lines_about(transaction, transaction.status, decision)
        append_to_timeline(transaction.reference_key, *lines, door=door)
        return True

    changed = retry_transient(once, using=primary_alias(Fulfilment))
    if changed:
        announce(transaction, transaction.status, fulfilment)
    return changed


def assign(
    seen: Fulfilment, page: PaymentPage, *, door: Door, actor: str, note: str
) -> Fulfilment | None:
    """Attribute a held payment to the page that staff name, and decide again by the policy.

    - Staff name the page; the policy still checks the amount (our decision). A payment that does
      not fit the page stays held, with the new reason.
    - An expected payment that the payer's side named is detached from the payment.
    - Return the fulfilment. Return None, and change nothing, if its state, reason or attempt is no
      longer as staff have `seen` it.
    """
    attribution = Attribution(by=Attributed.STAFF, page=page)
    with db_transaction.atomic(using=primary_alias(Fulfilment), durable=True):
        fence_off(seen.reference_key)
        transaction = (
            Transaction.objects.primary().select_related("fulfilment").get(pk=seen.transaction_id)
        )
        fulfilment: Fulfilment = transaction.fulfilment
        decision = decide_about(transaction, attribution)
        if _moved(fulfilment, seen) or not revise(fulfilment, decision):
            # Roll back: an attempt under way may still be recorded, and no expected payment is
            # marked as paid.
            db_transaction.set_rollback(True, using=primary_alias(Fulfilment))
            return None
        attach(transaction, attribution)
        detail = ": ".join(filter(None, (page.slug, note)))
        attributed = (EventKind.ATTRIBUTED, detail)
        lines = lines_about(transaction, transaction.status, decision)
        append_to_timeline(seen.reference_key, attributed, *lines, door=door, actor=actor)
    announce(transaction, transaction.status, fulfilment)
    return fulfilment


def _moved(fulfilment: Fulfilment, seen: Fulfilment) -> bool:
    return (fulfilment.state, fulfilment.reason, fulfilment.attempts) != (
        seen.state,
        seen.reason,
        seen.attempts,
    )
