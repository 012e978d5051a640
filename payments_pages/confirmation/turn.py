"""Take the turn to ask the service about a reference."""

import logging
from dataclasses import dataclass

from payments_pages.confirmation import inbox, verification
from payments_pages.confirmation.admission import RETRY_AFTER, Admission, admit, put_off
from payments_pages.confirmation.mirror import Found, find_transaction
from payments_pages.confirmation.outcomes import Confirmation, unavailable
from payments_pages.confirmation.run import Run
from payments_pages.models import Verification

__all__ = ["Turn", "take_turn"]

logger = logging.getLogger("payments_pages.confirmation")


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to ask, with the rows as they were when it was taken."""

    row: Verification
    claim: verification.Claim
    known: Found | None
    admission: Admission


def take_turn(
    run: Run, row: Verification | None, known: Found | None, *, is_named: bool
) -> Turn | Verification | Confirmation:
    """Return the turn; or the row, if a rival asks or has just asked; or "come back later".

    A reference never seen is inserted already claimed. `is_named` says that the row holds
    already what this caller says: then it is asked only if no rival has asked since.
    """
    vouched = run.vouched or known is not None or (row is not None and row.vouched)
    admission = admit(run.key, client_ip=run.client_ip, vouched=vouched)
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
            page_claim=run.page_token,
            vouched=run.vouched,
            signed_success=run.signed_success,
        )
        if claim is None:
            inbox.claim_page(row, run.page_token)
    elif admission is None:
        claim = None
    else:
        claim = verification.claim(
            row,
            refresh=run.refresh,
            vouched=run.vouched and not is_named,
            signed_success=run.signed_success,
        )
        # Once more, under the claim: its last holder may have written since.
        known = find_transaction(run.key) if claim is not None else None
    if claim is None or admission is None:
        return row
    return Turn(row, claim, known, admission)
