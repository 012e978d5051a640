"""The path of one reference, from top to bottom. Every door calls `confirm_payment`."""

import logging
from dataclasses import replace
from uuid import UUID

from django.db import DatabaseError, InterfaceError
from django.db import transaction as db_transaction

from payments_pages.choices import Door, VerificationState
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
from payments_pages.confirmation.service_events import (
    announce_event,
    append_event,
    record_money_back,
    tells_of_money_back,
)
from payments_pages.confirmation.sites import refuse_other_site
from payments_pages.confirmation.turn import Rival, Turn, take_turn
from payments_pages.db import is_transient, refuse_open_transaction
from payments_pages.exceptions import OtherSite, UnusableKey
from payments_pages.models import Fulfilment, Verification, primary_alias
from payments_pages.references import check_reference, reference_key

__all__ = ["confirm_payment", "confirm_payment_on_commit"]

logger = logging.getLogger("payments_pages.confirmation")

TURNS = 5
"""Times that a caller begins at most. It begins again when a rival has ended; each can lock the row
at the moment at which this caller would name the reference there."""


def confirm_payment(
    reference: str,
    *,
    door: Door = Door.CODE,
    page_token: UUID | None = None,
    refresh: bool = False,
    vouched: bool = False,
    signed_success: bool = False,
    told_paid: bool = False,
    deliver_now: bool = False,
    client_ip: str = "",
    actor: str = "",
    event: str = "",
    waits: bool = True,
) -> Confirmation:
    """Ask the service whether a reference is paid, mirror the answer and deliver its value once.

    This is the only entry to the path. It may be called any number of times, and by any number of
    callers at the same time.

    - `door` and `actor` are written into the timeline.
    - `page_token`: the token of the page by whose callback the payer came back.
    - `refresh`: ask the service about a settled reference, too.
    - `vouched`: staff, the merchant's own code or a signed message names the reference. The service
      is asked after this moment; an answer to an earlier call does not count. Own code says so only
      of a reference that it knows itself, not of one that a payer's request has sent.
    - `signed_success`: a signed message says that the reference is paid. It is `vouched`, too.
    - `told_paid`: a client says that it is paid. That proves nothing and changes nothing for the
      payer; staff are told if the service does not know the reference.
    - `deliver_now`: run the handler in this call even if `DELIVERY` is "queued". Workers, the
      sweep, staff and commands set it.
    - `client_ip`: the address of the client, at a door that is open to everybody. References that
      are not vouched for use up its budget. Blank for the merchant's own code.
    - `event`: the name of the signed message that names the reference. Of a reference that is known
      it becomes a line in the timeline; a refund or dispute needs the attention of staff.
    - `waits`: wait briefly for a rival that asks about the reference or delivers it. A sweep passes
      False: it takes another row.

    Raise `InvalidReference` for a text that cannot be a reference, `OpenTransactionError` inside
    an open transaction, `ConfigurationError` if a required setting is missing. If the service
    cannot be reached or the database is locked, no error is raised: the outcome is `UNAVAILABLE`,
    and the sweep finishes the work. It is the same outcome if the tables are bound to another site
    (`sites`): then nothing is asked and delivered.
    """
    refuse_open_transaction("confirm_payment() was called")
    check_reference(reference)
    try:
        refuse_other_site()
        run = Run(
            reference=reference,
            key=reference_key(reference),
            door=door,
            page_token=page_token,
            refresh=refresh,
            vouched=vouched or signed_success,
            signed_success=signed_success,
            told_paid=told_paid,
            deliver_now=deliver_now or conf.delivery == "inline",
            client_ip=client_ip,
            actor=actor,
            event=event,
            waits=waits,
        )
        row = inbox.find(run.key)
        return _confirm_event(run, row) if event else _confirm(run, row)
    except OtherSite as error:
        logger.critical(
            "confirmation.other_site: %s: %s",
            reference,
            error,
            extra=error_facts(reference, door, error),
        )
    except UnusableKey as error:
        # If MODE is not set, the mode is read from the secret key, and without the mode the
        # reference's row cannot be found.
        logger.critical(
            "confirmation.no_mode: %s: %s",
            reference,
            error,
            extra=error_facts(reference, door, error),
        )
    except (DatabaseError, InterfaceError) as error:
        if not is_transient(error):
            raise
        # The result is unknown. The next caller or the sweep finds what was committed.
        logger.warning(
            "confirmation.database_busy: %s", reference, extra=error_facts(reference, door, error)
        )
    return unavailable(reference)


def confirm_payment_on_commit(reference: str, *, door: Door = Door.CODE) -> None:
    """Confirm a reference after the caller's own transaction has committed.

    For code inside `atomic()`. The reference is stored in that transaction, so that the sweep
    confirms it if the process dies between the commit and the call. Errors of the call are logged
    and not raised. The reference counts as `vouched`: do not call this with what a payer's request
    has sent.

    Raise `InvalidReference` for a text that cannot be a reference.
    """
    check_reference(reference)
    inbox.remember(reference, reference_key(reference), door=door)

    # A function, because Django logs the name of a hook that fails, and a partial has none.
    def confirm_committed_payment() -> None:
        confirm_payment(reference, door=door, vouched=True)

    db_transaction.on_commit(
        confirm_committed_payment, using=primary_alias(Fulfilment), robust=True
    )


def _confirm_event(run: Run, row: Verification | None) -> Confirmation:
    """Confirm what a signed message names, and record the message itself.

    A message about a refund or dispute is recorded also if its reference was not known before. If
    it cannot be recorded now, because the handler is running, the outcome is `UNAVAILABLE`, and the
    service sends it again: the timeline has a line when it is taken, and not for this sending.
    """
    is_known = row is not None and row.reference == run.reference
    is_money_back = tells_of_money_back(run.event)
    if is_known and not is_money_back:
        append_event(run.key, run.event, door=run.door)
    found = _confirm(run, row)
    if is_money_back:
        if not record_money_back(run.reference, run.key, run.event):
            return unavailable(run.reference)
        is_known = is_known or inbox.is_known(run.reference)
        if is_known:
            append_event(run.key, run.event, door=run.door)
    if is_known:
        announce_event(run.reference, run.key, run.event)
    return found


def _confirm(run: Run, row: Verification | None) -> Confirmation:
    """Answer from the database; or take the claim, ask and record, and deliver or hand on.

    `row` is the reference's row as it was just read, None if there is none.

    Begin again if the row was deleted in the meantime, if a rival's call to the service began
    before this caller named the reference, or if a rival kept the row locked until now.
    """
    named: int | None = None
    for number in range(TURNS):
        row, known = inbox.find(run.key) if number else row, None
        if row is not None:
            inbox.refuse_another(row, run.reference)
            if not run.refresh and (final := answer_final(row)) is not None:
                return final
            known = find_transaction(run.key)
            paid = known.transaction if known else None
            is_stored = inbox.set_page_hint(row, run.page_token, paid)
            if is_stored and not run.refresh and is_settled(row, known):
                return answer(run, row, known)
        turn = take_turn(run, row, known, is_named=named is not None)
        if isinstance(turn, Confirmation):
            return turn
        if isinstance(turn, Rival):
            is_last = number == TURNS - 1
            found, named = _wait_for_rival(run, turn, named=named, is_last=is_last)
        else:
            found = _deliver(run, turn, ask(run, turn))
        if found is not None:
            return found
    return unavailable(run.reference)


def _wait_for_rival(
    run: Run, rival: Rival, *, named: int | None, is_last: bool
) -> tuple[Confirmation | None, int | None]:
    """Wait briefly for the rival that asks, and answer from the database.

    Without `waits`, answer from it at once. `named` is the attempt that had begun when this caller
    named the reference in its row, None if it has not yet; return it as it is by now, too.

    In place of the answer, return None if the caller must begin again:

    - The row is gone: it was deleted, because the service does not know the reference.
    - The rival's call to the service began before this caller vouched for the reference.
    - The rival had locked the row, so that nothing of this caller could be stored, and is ready. In
      the last turn (`is_last`) a caller that only could not ask is answered.

    If the rival's handler still runs, the answer is `PENDING`; or `UNAVAILABLE` if what this caller
    knows must not be lost: then it comes again.
    """
    row = rival.row
    is_stored = inbox.set_page_hint(row, run.page_token)
    if run.vouched and named is None:
        named = inbox.name_again(
            row,
            signed_success=run.signed_success,
            says_paid=run.says_paid,
            refresh=run.refresh,
        )
    # A handler that has kept the row locked for longer may keep it for ever.
    waits = run.waits and (not rival.has_lock or verification.began_just_now(row))
    if waits:
        found = verification.await_rival(run.key, has_lock=rival.has_lock)
    else:
        found = inbox.find(run.key)
    if found is None or (run.vouched and verification.is_outdated(found, named)):
        return None, named
    is_unheard = run.waits and (not is_stored or (run.vouched and named is None))
    if found.state != VerificationState.VERIFYING:
        if is_unheard or (run.waits and rival.has_lock and not is_last):
            return None, named
    elif is_unheard and (run.refresh or run.signed_success or not is_stored):
        return unavailable(run.reference), named
    known = find_transaction(run.key)
    return answer(run, found, known), named


def _deliver(run: Run, turn: Turn, result: Answered | Unanswered) -> Confirmation | None:
    """Deliver what was recorded, or hand it on; None if staff deleted the row in the meantime."""
    if isinstance(result, Unanswered):
        return answer_without_service(run, result.error)
    recorded = result.recorded
    if recorded is None and inbox.find(run.key) is None:
        return None
    if recorded is None or recorded.delivery is None:
        found = answer(run, turn.row, find_transaction(run.key))
        return replace(found, answered=result.status)
    outcome = deliver(recorded.delivery, door=run.door, result=result.result)
    return describe_delivery(recorded.delivery, outcome, answered=result.status)
