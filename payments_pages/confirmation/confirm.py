"""The path of one reference, from top to bottom. Every door calls `confirm_payment`."""

import logging
from dataclasses import replace
from uuid import UUID

from django.db import DatabaseError, InterfaceError
from django.db import transaction as db_transaction

from payments_pages.choices import Door
from payments_pages.conf import conf
from payments_pages.confirmation import inbox, verification
from payments_pages.confirmation.answer import (
    answer,
    answer_final,
    answer_without_service,
    is_settled,
)
from payments_pages.confirmation.ask import Answered, Unanswered, ask
from payments_pages.confirmation.delivery import deliver
from payments_pages.confirmation.mirror import find_transaction
from payments_pages.confirmation.outcomes import (
    Confirmation,
    describe_delivery,
    error_facts,
    unavailable,
)
from payments_pages.confirmation.run import Run
from payments_pages.confirmation.turn import Turn, take_turn
from payments_pages.db import is_transient, refuse_open_transaction
from payments_pages.exceptions import UnusableKey
from payments_pages.models import Fulfilment, Verification, primary_alias
from payments_pages.references import check_reference, reference_key

__all__ = ["confirm_payment", "confirm_payment_on_commit"]

logger = logging.getLogger("payments_pages.confirmation")

TURNS = 3
"""Times that the row is read: it may be deleted, or named again, while a rival asks."""


def confirm_payment(
    reference: str,
    *,
    door: Door,
    page_token: UUID | None = None,
    refresh: bool = False,
    vouched: bool = False,
    signed_success: bool = False,
    deliver_now: bool = False,
    client_ip: str = "",
    actor: str = "",
) -> Confirmation:
    """Ask the service whether a reference is paid, mirror the answer and deliver its value once.

    The one entry of the path: safe to call any number of times, from any number of places, at
    once.

    - `door` and `actor` are written into the timeline.
    - `page_token`: the payer came back by the callback of the page with this token.
    - `refresh`: ask the service about a settled reference too.
    - `vouched`: staff, the merchant's own code or a signed message names the reference.
      `signed_success`: a signed message says that it is paid. In both cases the service is asked
      after this moment, whatever an older ask was told.
    - `deliver_now`: deliver here even where `DELIVERY` is "queued". Workers, the sweep, staff and
      commands say so.
    - `client_ip`: where the request came from, at a door that is open to everybody. References that
      nobody vouched for are budgeted by it. Blank for the merchant's own code.

    Raise `InvalidReference` for what cannot be a reference, `OpenTransactionError` inside an
    open transaction, `ConfigurationError` when a required setting is missing. Nothing else: an
    unreachable service or a locked database is the outcome `UNAVAILABLE`, and the sweep goes on.
    """
    refuse_open_transaction("confirm_payment() was called")
    check_reference(reference)
    try:
        return _confirm(
            Run(
                reference=reference,
                key=reference_key(reference),
                door=door,
                page_token=page_token,
                refresh=refresh,
                vouched=vouched or signed_success,
                signed_success=signed_success,
                deliver_now=deliver_now or conf.delivery == "inline",
                client_ip=client_ip,
                actor=actor,
            )
        )
    except UnusableKey as error:
        # Without MODE only the key tells the mode, and so the key of the reference's row.
        logger.critical(
            "confirmation.no_mode: %s: %s",
            reference,
            error,
            extra=error_facts(reference, door, error),
        )
    except (DatabaseError, InterfaceError) as error:
        if not is_transient(error):
            raise
        # Unknown, not failed: whatever was committed is found by the next caller or the sweep.
        logger.warning(
            "confirmation.database_busy: %s", reference, extra=error_facts(reference, door, error)
        )
    return unavailable(reference)


def confirm_payment_on_commit(reference: str, *, door: Door = Door.CONFIRM) -> None:
    """Confirm a reference after the caller's own transaction has committed.

    For code that is inside `atomic()`. The reference is stored in that transaction, so that a
    crash between the commit and the call loses nothing: the sweep takes it. Errors of the call
    are logged, never raised into the caller.
    """
    check_reference(reference)
    inbox.remember(reference, reference_key(reference), door=door)

    # A function and not a partial: Django's own report of a failed hook asks for its name.
    def confirm_committed_payment() -> None:
        confirm_payment(reference, door=door, vouched=True)

    db_transaction.on_commit(
        confirm_committed_payment, using=primary_alias(Fulfilment), robust=True
    )


def _confirm(run: Run) -> Confirmation:
    """Answer from the database; or take the claim, ask and record, and deliver or hand on.

    Another turn is taken where the row was deleted meanwhile, or where a rival asked before
    this caller said something newer.
    """
    for number in range(TURNS):
        is_named = number > 0
        row, known = inbox.find(run.key), None
        if row is not None:
            inbox.refuse_another(row, run.reference)
            if not run.refresh and (final := answer_final(row)) is not None:
                return final
            known = find_transaction(run.key)
            inbox.claim_page(row, run.page_token, known.transaction if known else None)
            if not run.refresh and is_settled(row, known):
                return answer(run, row, known)
        turn = take_turn(run, row, known, is_named=is_named)
        if isinstance(turn, Confirmation):
            return turn
        if isinstance(turn, Verification):
            found = _wait_for_rival(run, turn, is_named=is_named)
        else:
            found = _deliver(run, turn, ask(run, turn))
        if found is not None:
            return found
    return unavailable(run.reference)


def _wait_for_rival(run: Run, row: Verification, *, is_named: bool) -> Confirmation | None:
    """Wait briefly for the caller that asks, and answer from the database.

    None when the row is gone (forgotten meanwhile, because the service does not know the
    reference), or when this caller says something newer than what the rival was told: ask again.
    """
    if run.vouched and not is_named:
        inbox.name_again(row, signed_success=run.signed_success, refresh=run.refresh)
    found = verification.await_rival(run.key)
    if found is None or (run.vouched and verification.is_outdated(found)):
        return None
    known = find_transaction(run.key)
    return answer(run, found, known)


def _deliver(run: Run, turn: Turn, result: Answered | Unanswered) -> Confirmation | None:
    """Deliver what was recorded, or hand it on; None when the row was deleted by hand meanwhile."""
    if isinstance(result, Unanswered):
        return answer_without_service(run, result.error)
    recorded = result.recorded
    if recorded is None and inbox.find(run.key) is None:
        return None
    if recorded is None or recorded.claimed is None:
        found = answer(run, turn.row, find_transaction(run.key))
        return replace(found, answered=result.status)
    outcome = deliver(recorded.claimed, door=run.door)
    return describe_delivery(recorded.claimed, outcome, answered=result.status)
