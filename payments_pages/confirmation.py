"""Take one reference through the whole path. Every door calls `confirm_payment`."""

import logging
from dataclasses import dataclass
from uuid import UUID

from django.db import DatabaseError, IntegrityError, InterfaceError
from django.db import transaction as db_transaction

from payments_pages import recording, verification
from payments_pages.admission import RETRY_AFTER, Admission, admit, put_off
from payments_pages.choices import Door, FulfilmentState, Outcome, VerificationState
from payments_pages.conf import conf
from payments_pages.connection import get_client
from payments_pages.databases import is_transient, refuse_open_transaction, tried_again
from payments_pages.delivery import deliver, deliver_here
from payments_pages.exceptions import (
    AuthenticationFailed,
    NotFound,
    ServiceError,
    UnusableKey,
)
from payments_pages.mirror import find_settled, find_transaction
from payments_pages.models import Fulfilment, Transaction, Verification, primary_alias
from payments_pages.nudging import hand_on
from payments_pages.outcomes import Confirmation, describe, outcome_without_fulfilment
from payments_pages.reconsidering import reconsider
from payments_pages.references import check_reference, reference_key

__all__ = ["Confirmation", "confirm_payment", "confirm_payment_on_commit", "describe"]

logger = logging.getLogger("payments_pages.confirmation")

COME_BACK = 5  # seconds after which asking again may tell more, when the service did not say

FINAL = frozenset({FulfilmentState.DELIVERED, FulfilmentState.REJECTED})
SOON = frozenset({Outcome.DELIVERING, Outcome.DELIVERY_FAILED})


def confirm_payment(
    reference: str,
    *,
    door: Door,
    page_token: UUID | None = None,
    refresh: bool = False,
    vouched: bool = False,
    deliver_now: bool = False,
    address: str = "",
    actor: str = "",
) -> Confirmation:
    """Ask whether a reference is paid, mirror the answer and give its value once.

    The one entry of the path: safe to call any number of times, from any number of places, at
    once. `page_token` is the claim of a page's own callback. `refresh` asks the service about a
    settled reference too. `vouched` says that staff, the merchant's code or a signed message
    named the reference; `address` is where an ask comes from that anybody could make, and is
    what references nobody vouched for are budgeted by; blank is the merchant's own code.
    `deliver_now` delivers here even where `DELIVERY` is "queued": who comes from the queue, or
    stands in for it (worker, sweep, staff, commands), says so. `door` and `actor` are for the timeline.

    Raise `InvalidReference` for what cannot be a reference, `OpenTransactionError` inside an
    open transaction, `ConfigurationError` when a required setting is missing. Nothing else: an
    unreachable service or a locked database is the outcome `UNAVAILABLE`, and the sweep goes on.
    """
    refuse_open_transaction("confirm_payment() was called")
    check_reference(reference)
    try:
        run = _Run(
            reference=reference,
            key=reference_key(reference),
            door=door,
            page_token=page_token,
            refresh=refresh,
            vouched=vouched,
            here=deliver_now or conf.delivery == "inline",
            address=address,
            actor=actor,
        )
        return _confirm(run)
    except UnusableKey as error:
        # Without MODE only the key tells it, and so under which key of ours the row would be.
        logger.critical(
            "confirmation.no_mode: %s: %s", reference, error, extra=_facts(reference, door, error)
        )
    except (DatabaseError, InterfaceError) as error:
        if not is_transient(error):
            raise
        # Unknown, not failed: whatever was committed is found by the next caller or the sweep.
        logger.warning(
            "confirmation.database_busy: %s", reference, extra=_facts(reference, door, error)
        )
    return Confirmation(outcome=Outcome.UNAVAILABLE, reference=reference, retry_after=COME_BACK)


def confirm_payment_on_commit(reference: str, *, door: Door = Door.CONFIRM) -> None:
    """Confirm a reference after the caller's own transaction has committed.

    For code that is inside `atomic()`. The reference is noted in that transaction, so that a
    crash between the commit and the call loses nothing: the sweep takes it. Errors of the call
    are logged, never raised into the caller.
    """
    check_reference(reference)
    verification.note(reference, reference_key(reference), door=door)

    # A function and not a partial: Django's own report of a failed hook asks for its name.
    def confirm_committed_payment() -> None:
        confirm_payment(reference, door=door, vouched=True)

    db_transaction.on_commit(
        confirm_committed_payment, using=primary_alias(Fulfilment), robust=True
    )


def _facts(reference: str, door: Door, error: Exception) -> dict[str, str]:
    return {"reference": reference, "error": type(error).__name__, "door": str(door)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Carry the arguments of one run down the steps."""

    reference: str
    key: str
    door: Door
    page_token: UUID | None
    refresh: bool
    vouched: bool
    here: bool
    address: str
    actor: str


def _confirm(run: _Run) -> Confirmation:
    row = verification.find(run.key)
    if row is None:
        return _first(run)
    verification.refuse_another(row, run.reference)
    if row.state == VerificationState.SETTLED and not run.refresh:
        final = find_settled(run.key)
        # Nothing that a payer claims can change it any more: one small query more, and no write.
        if final is not None and _state(final) in FINAL:
            return describe(final)
    transaction = find_transaction(run.key)
    verification.claim_page(row, run.page_token)
    if not _settled(run, row, transaction):
        vouched = run.vouched or row.vouched or transaction is not None
        admission = admit(run.key, address=run.address, vouched=vouched)
        if admission is not None:
            held = verification.claim(row, refresh=run.refresh, vouched=run.vouched)
            if held is not None:
                # Once more, under the claim: who held it before may have written since.
                return _ask(run, row, held, find_transaction(run.key), admission)
    return _after_rivals(run, row, transaction)


def _first(run: _Run) -> Confirmation:
    """Take a reference never seen: insert its row already claimed, and ask."""
    admission = admit(run.key, address=run.address, vouched=run.vouched)
    if admission is None:
        noted = put_off(run.reference, run.key, run.door, run.page_token, run.address)
        logger.warning(
            "confirmation.put_off: %s",
            run.reference,
            extra={"reference": run.reference, "noted": noted, "door": str(run.door)},
        )
        return Confirmation(
            outcome=Outcome.UNAVAILABLE, reference=run.reference, retry_after=RETRY_AFTER
        )
    row, held = verification.receive(
        run.reference, run.key, door=run.door, page_claim=run.page_token, vouched=run.vouched
    )
    if held is not None:
        return _ask(run, row, held, None, admission)
    verification.claim_page(row, run.page_token)
    return _after_rivals(run, row, None)


def _after_rivals(run: _Run, row: Verification, transaction: Transaction | None) -> Confirmation:
    """Answer from the database, once nobody is asking any more."""
    if row.state != VerificationState.SETTLED:
        if run.vouched:
            verification.vouch(row)
        found = verification.await_rival(run.key)
        if found is None:
            return _first(run)  # forgotten meanwhile, as one that the service does not know
        row, transaction = found, None
    if run.refresh and run.vouched:
        # Whoever asked did so before what is new was said.
        verification.ask_again(row)
    if transaction is None:
        # A rival may have been through the whole path since we looked.
        transaction = find_transaction(run.key)
    return _answer(run, row, transaction)


def _settled(run: _Run, row: Verification, transaction: Transaction | None) -> bool:
    """Say whether the database can answer by itself: what is settled makes no call."""
    if run.refresh:
        return False
    return row.state == VerificationState.SETTLED or _state(transaction) in FINAL


def _state(transaction: Transaction | None) -> str | None:
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    return fulfilment.state if fulfilment is not None else None


def _ask(
    run: _Run,
    row: Verification,
    held: verification.Claim,
    existing: Transaction | None,
    admission: Admission,
) -> Confirmation:
    """Ask the service, with no transaction open, and write down what it says."""
    try:
        resource = get_client().verify_transaction(run.reference)
    except ServiceError as error:
        admission.close(error)
        return _unanswered(run, row, held, error, existing)

    def record(number: int) -> recording.Recorded | None:
        return recording.record(
            held,
            resource,
            key=run.key,
            existing=find_transaction(run.key) if number else existing,  # as it is after a rollback
            page_claim=row.page_claim,
            door=run.door,
            actor=run.actor,
            claim=run.here,
        )

    try:
        recorded = tried_again(record, using=primary_alias(Fulfilment))
    except IntegrityError:  # its verification was deleted by hand, the transaction was not
        recorded = record(1)
    if recorded is None and verification.find(run.key) is None:
        return _first(run)  # its row was deleted by hand, and the answer with it
    if recorded is None or not recorded.claimed or recorded.fulfilment is None:
        return _answer(run, row, find_transaction(run.key))
    return _delivered(run, recorded.fulfilment, deliver(recorded.fulfilment, door=run.door))


def _unanswered(
    run: _Run,
    row: Verification,
    held: verification.Claim,
    error: ServiceError,
    existing: Transaction | None,
) -> Confirmation:
    """Note that no usable answer came; what is known already is still the answer."""
    verification.fail(held, error, known=existing is not None)
    ours = isinstance(error, AuthenticationFailed | UnusableKey)
    level = logging.CRITICAL if ours else logging.WARNING
    logger.log(
        level,
        "confirmation.unanswered: %s: %s",
        run.reference,
        error,
        extra={**_facts(run.reference, run.door, error), "status": error.status},
    )
    transaction = find_transaction(run.key)
    if getattr(transaction, "fulfilment", None) is not None:
        return _answer(run, row, transaction)
    unknown = transaction is None and isinstance(error, NotFound)
    return Confirmation(
        outcome=Outcome.UNKNOWN if unknown else Outcome.UNAVAILABLE,
        reference=run.reference,
        transaction=transaction,
        retry_after=error.retry_after or COME_BACK,
    )


def _answer(run: _Run, row: Verification, transaction: Transaction | None) -> Confirmation:
    """Answer from the database, after seeing to what is open and nobody holds."""
    if transaction is not None:
        reconsider(transaction, page_claim=row.page_claim, door=run.door)
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if transaction is None or fulfilment is None:
        outcome = outcome_without_fulfilment(row, transaction)
        return Confirmation(
            outcome=outcome,
            reference=run.reference,
            transaction=transaction,
            retry_after=None if outcome is Outcome.NOT_PAID else COME_BACK,
        )
    due = getattr(transaction, "delivery_due", False)
    give = deliver_here if run.here else hand_on
    return _delivered(run, fulfilment, give(fulfilment, due=due, door=run.door))


def _delivered(run: _Run, fulfilment: Fulfilment, outcome: Outcome) -> Confirmation:
    return Confirmation(
        outcome=outcome,
        reference=run.reference,
        transaction=fulfilment.transaction,
        fulfilment=fulfilment,
        retry_after=COME_BACK if outcome in SOON else None,
    )
