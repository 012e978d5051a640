"""Take one reference through the whole path. Every door calls `confirm_payment`."""

import logging
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import DatabaseError, InterfaceError
from django.db import transaction as db_transaction

from payments_pages.choices import Door, FulfilmentState, Outcome, VerificationState
from payments_pages.client import get_client
from payments_pages.conf import conf
from payments_pages.confirmation import inbox, recording, verification
from payments_pages.confirmation.admission import RETRY_AFTER, Admission, admit, put_off
from payments_pages.confirmation.delivery import deliver, deliver_here
from payments_pages.confirmation.mirror import find_settled, find_transaction
from payments_pages.confirmation.nudging import hand_on
from payments_pages.confirmation.outcomes import (
    Confirmation,
    describe,
    is_contradicted,
    outcome_without_fulfilment,
)
from payments_pages.confirmation.recording import reconsider
from payments_pages.db import is_transient, refuse_open_transaction
from payments_pages.exceptions import (
    AuthenticationFailed,
    ConfigurationError,
    NotFound,
    ServiceError,
    UnusableKey,
)
from payments_pages.models import Fulfilment, Transaction, Verification, primary_alias
from payments_pages.redaction import place_of
from payments_pages.references import check_reference, reference_key

__all__ = ["Confirmation", "confirm_payment", "confirm_payment_on_commit", "describe"]

logger = logging.getLogger("payments_pages.confirmation")

COME_BACK = 5  # seconds after which asking again may tell more, when the service did not say

TURNS = 3
"""Times that the row is read: it may be deleted, or named again, while a rival asks."""

FINAL = frozenset({FulfilmentState.DELIVERED, FulfilmentState.REJECTED})
SOON = frozenset({Outcome.DELIVERING, Outcome.DELIVERY_FAILED})


def confirm_payment(
    reference: str,
    *,
    door: Door,
    page_token: UUID | None = None,
    refresh: bool = False,
    vouched: bool = False,
    signed_success: bool = False,
    deliver_now: bool = False,
    address: str = "",
    actor: str = "",
) -> Confirmation:
    """Ask whether a reference is paid, mirror the answer and give its value once.

    The one entry of the path: safe to call any number of times, from any number of places, at
    once. `page_token` is the claim of a page's own callback. `refresh` asks the service about a
    settled reference too. `vouched` says that staff, the merchant's code or a signed message
    names the reference, and `signed_success` that a signed message says it is paid: the service is
    asked after that, whatever an older ask was told. `address` is where an ask comes from that anybody could make, and is
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
            vouched=vouched or signed_success,
            signed_success=signed_success,
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
    inbox.note(reference, reference_key(reference), door=door)

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
    """The arguments of one run of the path."""

    reference: str
    key: str
    door: Door
    page_token: UUID | None
    refresh: bool
    vouched: bool
    signed_success: bool
    here: bool
    address: str
    actor: str


def _confirm(run: _Run) -> Confirmation:
    """Answer from the database, or ask the service and record what it says.

    Another turn is taken where the row was deleted meanwhile, or where the ask of a rival is
    older than what this caller says.
    """
    for turn in range(TURNS):
        row = inbox.find(run.key)
        if row is None:
            found, row = _receive(run)
        else:
            inbox.refuse_another(row, run.reference)
            found = _find_settled(run, row) or _claim_and_ask(run, row, named=turn > 0)
        if found is None and row is not None:
            found = _after_rivals(run, row, named=turn > 0)
        if found is not None:
            return found
    return Confirmation(outcome=Outcome.UNAVAILABLE, reference=run.reference, retry_after=COME_BACK)


def _find_settled(run: _Run, row: Verification) -> Confirmation | None:
    """Answer from the database by one small query what no payer and no ask can change any more."""
    if row.state != VerificationState.SETTLED or run.refresh:
        return None
    transaction = find_settled(run.key)
    settled = transaction is not None and _state(transaction) in FINAL
    return describe(transaction) if transaction is not None and settled else None


def _receive(run: _Run) -> tuple[Confirmation | None, Verification | None]:
    """Insert the row of a reference never seen, already claimed, and ask.

    Return a rival's row and no answer when one was first.
    """
    admission = admit(run.key, address=run.address, vouched=run.vouched)
    if admission is None:
        return _put_off(run), None
    row, claim = verification.receive(
        run.reference,
        run.key,
        door=run.door,
        page_claim=run.page_token,
        vouched=run.vouched,
        signed_success=run.signed_success,
    )
    if claim is not None:
        return _ask(run, row, claim, None, admission), None
    inbox.claim_page(row, run.page_token)
    return None, row


def _put_off(run: _Run) -> Confirmation:
    noted = put_off(run.reference, run.key, run.door, run.page_token, run.address)
    logger.warning(
        "confirmation.put_off: %s",
        run.reference,
        extra={"reference": run.reference, "noted": noted, "door": str(run.door)},
    )
    return Confirmation(
        outcome=Outcome.UNAVAILABLE, reference=run.reference, retry_after=RETRY_AFTER
    )


def _claim_and_ask(run: _Run, row: Verification, *, named: bool) -> Confirmation | None:
    """Ask the service if this caller may; None when a rival asks, or has just asked.

    `named` says that the row holds already what this caller says: then it is asked only if no
    rival has asked since.
    """
    transaction = find_transaction(run.key)
    inbox.claim_page(row, run.page_token, transaction)
    if _is_settled(run, row, transaction):
        return _answer(run, row, transaction)
    vouched = run.vouched or row.vouched or transaction is not None
    admission = admit(run.key, address=run.address, vouched=vouched)
    if admission is None:
        return None
    claim = verification.claim(
        row,
        refresh=run.refresh,
        vouched=run.vouched and not named,
        signed_success=run.signed_success,
    )
    if claim is None:
        return None
    # Once more, under the claim: its last holder may have written since.
    return _ask(run, row, claim, find_transaction(run.key), admission)


def _after_rivals(run: _Run, row: Verification, *, named: bool) -> Confirmation | None:
    """Answer from the database once no rival asks any more.

    None when the row is gone (forgotten meanwhile, because the service does not know it), or
    when this caller knows something newer than what the rival was told: then ask again.
    """
    if run.vouched and not named:
        inbox.name_again(row, signed_success=run.signed_success, refresh=run.refresh)
    found = verification.await_rival(run.key)
    if found is None or (run.vouched and _must_ask(found)):
        return None
    return _answer(run, found, find_transaction(run.key))


def _must_ask(row: Verification) -> bool:
    """Say whether the last ask, which has ended, is older than what somebody trusted said."""
    ended = row.state not in {VerificationState.VERIFYING, VerificationState.SETTLED}
    return ended and row.named_attempt >= row.attempts


def _is_settled(run: _Run, row: Verification, transaction: Transaction | None) -> bool:
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
    claim: verification.Claim,
    existing: Transaction | None,
    admission: Admission,
) -> Confirmation | None:
    """Ask the service, with no transaction open, and write down what it says.

    None when the row was deleted by hand meanwhile, and the answer with it.
    """
    try:
        resource = get_client().verify_transaction(run.reference)
    except ServiceError as error:
        admission.close(error)
        return _unanswered(run, claim, error, existing)
    try:
        recorded = recording.record(
            claim,
            resource,
            key=run.key,
            existing=existing,
            page_claim=row.page_claim,
            door=run.door,
            actor=run.actor,
            claim=run.here,
        )
    except (ConfigurationError, InterfaceError):
        raise
    except Exception as error:
        if is_transient(error):
            raise
        return _unrecorded(run, claim, error)
    if recorded is None and inbox.find(run.key) is None:
        return None
    if recorded is None or not recorded.claimed or recorded.fulfilment is None:
        return replace(_answer(run, row, find_transaction(run.key)), answered=resource.status)
    given = deliver(recorded.fulfilment, door=run.door)
    return replace(_delivered(run, recorded.fulfilment, given), answered=resource.status)


def _unrecorded(run: _Run, claim: verification.Claim, error: Exception) -> Confirmation:
    """Write down that an answer came and could not be recorded, in a transaction of its own.

    Somebody must mend that: a signal's receiver that raises, a table that is not as it should be.
    """
    verification.fail_to_record(claim, error)
    logger.error(
        "confirmation.unrecorded: %s: %s",
        run.reference,
        place_of(error),
        extra=_facts(run.reference, run.door, error),
    )
    return Confirmation(outcome=Outcome.UNAVAILABLE, reference=run.reference, retry_after=COME_BACK)


def _unanswered(
    run: _Run, claim: verification.Claim, error: ServiceError, existing: Transaction | None
) -> Confirmation:
    """Note that no usable answer came; what is known already is still the answer."""
    verification.fail(claim, error, known=existing is not None)
    ours = isinstance(error, AuthenticationFailed | UnusableKey)
    level = logging.CRITICAL if ours else logging.WARNING
    logger.log(
        level,
        "confirmation.unanswered: %s: %s",
        run.reference,
        error,
        extra={**_facts(run.reference, run.door, error), "status": error.status},
    )
    # Read anew: a signed message may have come while we asked.
    row, transaction = inbox.find(run.key), find_transaction(run.key)
    if row is not None and getattr(transaction, "fulfilment", None) is not None:
        return _answer(run, row, transaction)
    outcome = Outcome.UNAVAILABLE
    if transaction is None and isinstance(error, NotFound):
        outcome = Outcome.PENDING if is_contradicted(row, transaction) else Outcome.UNKNOWN
    return Confirmation(
        outcome=outcome,
        reference=run.reference,
        transaction=transaction,
        retry_after=error.retry_after or COME_BACK,
        contradicted=is_contradicted(row, transaction),
    )


def _answer(run: _Run, row: Verification, transaction: Transaction | None) -> Confirmation:
    """Answer from the database, after seeing to what is open and nobody holds."""
    current = None
    if transaction is None:
        # The row first: one transaction settles it and writes the mirror.
        current, transaction = inbox.find(run.key), find_transaction(run.key)
    if transaction is not None:
        reconsider(transaction, page_claim=row.page_claim, door=run.door)
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if transaction is None or fulfilment is None:
        # Read anew: a signed message may have come while we, or a rival, asked.
        current = current or inbox.find(run.key)
        outcome = outcome_without_fulfilment(current, transaction)
        return Confirmation(
            outcome=outcome,
            reference=run.reference,
            transaction=transaction,
            retry_after=None if outcome is Outcome.NOT_PAID else COME_BACK,
            contradicted=is_contradicted(current, transaction),
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
