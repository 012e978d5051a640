"""Take the turn to ask the service about a reference."""

import logging
from dataclasses import dataclass

from payments_pages.confirmation import verification
from payments_pages.confirmation.admission import RETRY_AFTER, Admission, admit, put_off
from payments_pages.confirmation.mirror import Found, find_transaction
from payments_pages.confirmation.outcomes import Confirmation, unavailable
from payments_pages.confirmation.run import Run
from payments_pages.db import HeldRowError
from payments_pages.models import Verification

__all__ = ["Rival", "Turn", "take_turn"]

logger = logging.getLogger("payments_pages.confirmation")


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to ask, with the rows as they were when it was taken."""

    row: Verification
    claim: verification.Claim
    known: Found | None
    admission: Admission


@dataclass(frozen=True, slots=True)
class Rival:
    """The row of a reference that a rival asks about, or has just asked about.

    `has_lock`: it had locked the row, so that nothing could be claimed or stored there.
    """

    row: Verification
    has_lock: bool = False


def take_turn(
    run: Run, row: Verification | None, known: Found | None, *, is_named: bool
) -> Turn | Rival | Confirmation:
    """Take the claim to ask about a reference, and return the turn.

    Return the rival if the caller may not ask now, because a rival asks or has just asked, or
    because the budget is used up. Return a `Confirmation` ("come back later") if the reference is
    new and its budget is used up.

    A new reference is inserted already claimed. `is_named`: this caller has already named the
    reference in its row; the service is asked only if no rival has asked since.
    """
    is_known = known is not None or (row is not None and row.vouched)
    admission = admit(run.key, client_ip=run.client_ip, vouched=run.vouched, known=is_known)
    if row is None and admission is None:
        noted = put_off(run.reference, run.key, run.door, run.page_token, run.client_ip)
        logger.warning(
            "confirmation.put_off: %s",
            run.reference,
            extra={"reference": run.reference, "noted": noted, "door": str(run.door)},
        )
        return unavailable(run.reference, retry_after=RETRY_AFTER)
    if row is None:
        row, claim = verification.receive(
            run.reference,
            run.key,
            door=run.door,
            page_hint=run.page_token,
            vouched=run.vouched,
            signed_success=run.signed_success,
            says_paid=run.says_paid,
        )
    elif admission is None:
        claim = None
    else:
        try:
            claim = verification.claim(
                row,
                refresh=run.refresh,
                vouched=run.vouched and not is_named,
                signed_success=run.signed_success,
                says_paid=run.says_paid,
                is_anonymous=bool(run.client_ip) and not run.vouched,
            )
        except HeldRowError:
            return Rival(row, has_lock=True)
        # Read again, under the claim: the rival that had it before may have written.
        known = find_transaction(run.key) if claim is not None else None
    if claim is None or admission is None:
        return Rival(row)
    return Turn(row, claim, known, admission)
