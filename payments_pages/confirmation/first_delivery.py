"""Record the first answer about a payment and deliver it in the same transaction.

A payment that goes well needs two commits: that of the claim to ask, and this one. It is done for
the first call about a reference, if the handler is atomic and runs in this call. All is committed
or nothing is: the answer, the delivery, and what the handler has written.

- If the handler raises an error, all is rolled back. Then the answer is recorded by itself, with
  the failed attempt.
- If the process dies, the lease of the claim ends, and the sweep asks the service again. Its call
  is not the first, so it records before it delivers: a handler that kills its process is counted
  by `attempts`, and is given up after `MAX_ATTEMPTS`.
- While the handler runs, its transaction has locked the verification. Nobody waits for this lock
  (`verification.claim`, `inbox`).

On MariaDB and MySQL an answer is recorded before the handler runs, in a commit of its own. There
the new payment keeps its page locked against every change until the transaction ends: a sync would
wait for a slow handler, and all payments of the page would wait for the sync (our decision).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError

from payments_pages.choices import Door, FulfilmentState, Verdict
from payments_pages.conf import conf
from payments_pages.confirmation import inbox
from payments_pages.confirmation.delivery import Completed, Failed, Result, work_under_mark
from payments_pages.confirmation.handlers import Handler, load_handler
from payments_pages.confirmation.mirror import find_transaction
from payments_pages.confirmation.policy import Decision
from payments_pages.confirmation.recording import Recorded, tell
from payments_pages.confirmation.timeline import Line
from payments_pages.confirmation.verification import Claim
from payments_pages.db import foreign_keys_lock, is_transient, retry_transient
from payments_pages.models import Fulfilment, primary_alias

__all__ = ["is_first", "record_and_deliver"]

Record = Callable[..., Recorded | None]
"""`recording.record` with its arguments about the answer; it takes those about the delivery."""


def is_first(claim: Claim, *, deliver_now: bool) -> bool:
    """Say whether an answer under this claim is recorded and delivered in one transaction."""
    at_once = deliver_now and claim.attempt == 1 and conf.handler_atomic
    return at_once and not foreign_keys_lock(primary_alias(Fulfilment))


@dataclass(slots=True)
class _Attempt:
    """The attempt to deliver within the record.

    `began` and `ended` say this of the handler. `error` is the last one of the database.
    """

    record: Record
    handler: Handler
    door: Door
    actor: str
    began: bool = False
    ended: bool = False
    error: Exception | None = None

    def make(self, _number: int) -> Recorded | None:
        try:
            return self.record(accepted_as=FulfilmentState.DELIVERED, give=self._give)
        except (DatabaseError, InterfaceError) as error:
            self.error = error
            raise

    def _give(self, fulfilment: Fulfilment, lines: Sequence[Line]) -> None:
        self.began, self.ended = True, False
        work_under_mark(fulfilment, self.handler, self.door, lines=lines, actor=self.actor)
        self.ended = True


def record_and_deliver(
    record: Record, claim: Claim, key: str, *, door: Door, actor: str
) -> tuple[Recorded | None, Result | None]:
    """Record an answer, and deliver in the same transaction if it is accepted.

    Return what was recorded, and the result of the attempt to deliver; None if there was none. The
    attempt counts as made also if its error has rolled the record back: then the answer is recorded
    by itself.

    Raise a short-lived error of the database that came before the handler.
    """
    try:
        handler = load_handler()
    except Exception:  # noqa: BLE001 - an import of the merchant's code may raise anything
        return record(), None  # the delivery loads it, too, and records that it failed
    attempt = _Attempt(record, handler, door, actor)
    try:
        recorded = retry_transient(attempt.make, using=primary_alias(Fulfilment))
    except Exception as error:  # noqa: BLE001 - the merchant's code may raise anything
        return _after_error(attempt, claim, key, error)
    if recorded is None and attempt.ended:
        # A second try: the first was committed, and an error came after that.
        committed = _find_committed(claim, key, door)
        late = Completed(late_error=attempt.error)
        return committed, late if committed is not None else None
    is_made = recorded is not None and recorded.delivery is not None
    return recorded, Completed() if is_made else None


def _after_error(
    attempt: _Attempt, claim: Claim, key: str, error: Exception
) -> tuple[Recorded | None, Result | None]:
    """Record the answer by itself, unless the transaction was committed all the same.

    It was if only a hook of the handler's failed after the commit, or if the handler has committed,
    and then raised an error.
    """
    if not attempt.began:
        if isinstance(error, DatabaseError | InterfaceError) and is_transient(error):
            raise error
        return attempt.record(), None
    committed = _find_committed(claim, key, attempt.door)
    if committed is not None:
        late = Completed(late_error=error) if attempt.ended else Failed(error, at_commit=False)
        return committed, late
    recorded = attempt.record()
    is_open = recorded is not None and recorded.delivery is not None
    return recorded, Failed(error, at_commit=False) if is_open else None


def _find_committed(claim: Claim, key: str, door: Door) -> Recorded | None:
    """Return what this claim has recorded as delivered, and tell of it; None if it has not."""
    row, known = inbox.find(key), find_transaction(key)
    if row is None or known is None or known.fulfilment is None:
        return None
    if row.attempts != claim.attempt or known.fulfilment.state != FulfilmentState.DELIVERED:
        return None
    accepted = Decision(verdict=Verdict.ACCEPT)
    tell(
        known.transaction,
        accepted,
        "",
        known.fulfilment,
        opened=True,
        attempt=claim.attempt,
        door=door,
    )
    return Recorded(known.transaction, known.fulfilment)
