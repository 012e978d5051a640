"""Do the work that is due: references to ask about, deliveries to make, leases that have ended.

The sweep guarantees that each payment is finished; the other doors are only faster. Any number of
sweeps may run at the same time.
"""

import datetime as dt
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import inf

from django.db import connections
from django.db.models import DurationField, ExpressionWrapper, F

from payments_pages.choices import Door, Outcome
from payments_pages.client import GATES
from payments_pages.confirmation.admission import Admission, admit_swept
from payments_pages.confirmation.backlog import (
    OTHERS_COUNTED,
    Work,
    count_due,
    count_unasked,
    due_work,
    unvouched_work,
)
from payments_pages.confirmation.confirm import confirm_payment
from payments_pages.confirmation.due import (
    forget_unknown,
    open_fulfilments,
    open_verifications,
    other_mode_fulfilments,
    other_mode_verifications,
)
from payments_pages.confirmation.sites import bind_tables
from payments_pages.confirmation.unattributed_holds import conclude, is_attributable
from payments_pages.db import UtcNow, renew_connections
from payments_pages.exceptions import ConfigurationError, InvalidReference
from payments_pages.models import Fulfilment, Verification
from payments_pages.references import reference_key

__all__ = ["SweepReport", "oldest_due", "sweep_due", "take_message"]

logger = logging.getLogger("payments_pages.sweeping")


@dataclass(slots=True)
class SweepReport:
    """The counts of one sweep.

    - `outcomes`: the references taken, by outcome.
    - `errors`: the references whose confirmation raised an error.
    - `left`: the rows that were still due when the time was over.
    - `unasked`: the due references that the service was not asked about, because it keeps failing.
    - `purged`: the unknown references that were deleted.
    - `overrun`: the deliveries whose lease has ended but whose handler still runs, or hangs.
    - `other_mode`: the due references and deliveries of the other mode, which the sweep leaves
      alone.

    `left`, `unasked` and `other_mode` count at most `OTHERS_COUNTED` rows of each kind.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    errors: int = 0
    left: int = 0
    unasked: int = 0
    purged: int = 0
    overrun: int = 0
    other_mode: int = 0

    @property
    def taken(self) -> int:
        """Return how many references were taken through the path."""
        return self.outcomes.total() + self.errors


def sweep_due(
    *,
    batch: int = 100,
    seconds: float = inf,
    jobs: int = 1,
    progress: Callable[[SweepReport], None] = lambda report: None,
    stop: Callable[[], bool] = lambda: False,
) -> SweepReport:
    """Take every due reference through the path once; return the counts.

    - The newest and the oldest rows are taken in turns. References that are not vouched for come
      last, the most likely payers first; only a limited number of them each minute may turn out to
      be unknown to the service.
    - Sweeps share the work, and none waits for another: a row that another sweep, or any other
      caller, has taken is skipped.
    - While the breaker is open, only deliveries are made. No row is written that the service would
      have to be asked about; one call finds out whether the service is back.
    - A delivery that is under way is skipped, even if its lease has ended. The next sweep looks at
      it again.
    - Only rows of this site's mode are taken. Rows of the other mode wait until `MODE` is switched
      back.
    - Rows that become due during the sweep are taken, too.
    - An error of one row is logged and counted, and the sweep goes on. That row is due again by
      its own schedule.

    After `seconds` no further row is taken. `jobs` threads, each with its own connections, share
    the work; more than `MAX_CALLS` of them cannot ask the service at the same time. `progress` is
    called after each row. `stop` is called before each row; the sweep ends if it returns true.

    The first sweep binds the tables to this site. Raise `OtherSite` if they are bound to another
    one, and `ConfigurationError` if a required setting is missing.
    """
    bind_tables()
    sweep = _Sweep(batch, time.monotonic() + seconds, progress, stop)
    if jobs == 1:
        sweep.run()
    else:
        with ThreadPoolExecutor(jobs, thread_name_prefix="sweep") as pool:
            runs = [pool.submit(sweep.run_in_thread) for _number in range(jobs)]
        for run in runs:
            run.result()
    report = sweep.report
    report.overrun = _count_overrun(sweep.underway)
    report.purged = forget_unknown()
    report.left = count_due() if sweep.is_late() else 0
    report.unasked = count_unasked() if GATES.is_failing() else 0
    report.other_mode = sum(
        rows[:OTHERS_COUNTED].count()
        for rows in (other_mode_verifications(), other_mode_fulfilments())
    )
    return report


class _Sweep:
    """One sweep, which one or several threads run."""

    def __init__(
        self,
        batch: int,
        ends_at: float,
        progress: Callable[[SweepReport], None],
        stop: Callable[[], bool],
    ) -> None:
        self.report = SweepReport()
        self.underway: list[str] = []
        self._batch = batch
        self._ends_at = ends_at
        self._progress = progress
        self._stop = stop
        self._has_failed = False
        self._work = self._admitted()
        self._reading = threading.Lock()
        self._counting = threading.Lock()
        self._probing = threading.Lock()

    def is_late(self) -> bool:
        """Say whether the time is over."""
        return time.monotonic() >= self._ends_at

    def run_in_thread(self) -> None:
        """Take rows in a thread of its own; an error ends the other threads after their row."""
        try:
            self.run()
        except BaseException:
            self._has_failed = True
            raise
        finally:
            connections.close_all()

    def run(self) -> None:
        """Take rows until none is left, the time is over, or somebody said stop."""
        while not (self._has_failed or self._stop() or self.is_late()):
            renew_connections()
            with self._reading:
                work, admission = next(self._work, (None, Admission()))
            if work is None:
                return
            with self._turn(work):
                if (not work.asks or self._may_ask()) and work.is_due():
                    if work.source.is_unattributed:
                        self._decide_again(work)
                    else:
                        self._take(work, admission)

    def _admitted(self) -> Iterator[tuple[Work, Admission]]:
        """Yield what is due, with its admission; what nobody vouched for until its budget is used up."""
        for work in due_work(self._batch, may_ask=self._may_ask):
            yield work, Admission()
        for work in unvouched_work(self._batch):
            if not self._may_ask():
                return
            admission = admit_swept()
            if admission is None:
                logger.warning("sweep.put_off")
                return
            yield work, admission

    @staticmethod
    def _may_ask() -> bool:
        """Say whether a call to the service would be made now, if only as the breaker's probe."""
        return GATES.longest_pause() == 0

    def _turn(self, work: Work) -> AbstractContextManager[object]:
        """Return the lock of the breaker's probe if the service keeps failing and must be asked.

        Then one thread at a time asks, and the others wait for what it finds out.
        """
        return self._probing if work.asks and GATES.is_failing() else nullcontext()

    def _decide_again(self, work: Work) -> None:
        """Take a hold if something now says what it pays for; otherwise end this look at it.

        The service is asked before, because its answer may be days old.
        """
        if is_attributable(work.pk):
            if not self._may_ask():
                return
            self._take(work, Admission(), refresh=True)
        conclude(work.pk)

    def _take(self, work: Work, admission: Admission, *, refresh: bool = False) -> None:
        reference, refresh = work.reference, refresh or work.asks
        try:
            found = confirm_payment(
                reference, door=Door.SWEEP, refresh=refresh, deliver_now=True, waits=False
            )
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001 - one row must not stop the others
            admission.charge()
            logger.error(  # noqa: TRY400 - a traceback may quote a payer
                "sweep.row_failed: %s",
                reference,
                extra={"reference": reference, "error": type(error).__name__},
            )
            with self._counting:
                self.report.errors += 1
                self._progress(self.report)
            return
        if found.outcome is Outcome.UNKNOWN:
            admission.charge()
        with self._counting:
            self.report.outcomes[found.outcome] += 1
            if found.outcome in {Outcome.DELIVERING, Outcome.PENDING}:
                self.underway.append(reference_key(reference))
            self._progress(self.report)


def _count_overrun(underway: list[str]) -> int:
    """Count the deliveries that may be under way and whose lease has ended; log them in one record.

    `underway` are reference keys. While a first delivery runs, only its verification can be seen.
    """
    some = underway[:OTHERS_COUNTED]
    found: list[str] = []
    for rows, reference in (
        (Fulfilment.objects.primary().overrun(), "transaction__reference"),
        (Verification.objects.primary().overrun(), "reference"),
    ):
        if some:
            found += rows.filter(reference_key__in=some).values_list(reference, flat=True)
    if found:
        logger.error(
            "sweep.overrun: %s deliveries have run for longer than their lease, such as %s",
            len(found),
            found[0],
            extra={"count": len(found), "reference": found[0]},
        )
    return len(found)


def oldest_due() -> dt.timedelta | None:
    """Return how long the oldest due row has waited, by the database's clock; None: no row is due.

    This figure shows every failure: it grows if no sweep runs, if the service is down, and if a
    handler fails. Rows of the other mode do not count, because no sweep takes them.
    """
    waiting = ExpressionWrapper(UtcNow() - F("next_at"), output_field=DurationField())
    ages = [
        rows.due().values_list(waiting, flat=True).first()
        for rows in (open_verifications(), open_fulfilments())
    ]
    return max((age for age in ages if age is not None), default=None)


def take_message(reference: str) -> Outcome | None:
    """Confirm and deliver the reference in a queue's message; None if it is not a reference.

    The task of every queue calls this. Nothing is decided by the message, so a message that is
    lost, doubled, late or forged does no harm. The queue need not retry, because the row says when
    it is due again.
    """
    try:
        found = confirm_payment(reference, door=Door.WORKER, deliver_now=True)
    except InvalidReference:
        logger.warning("worker.invalid_message")
        return None
    return found.outcome
