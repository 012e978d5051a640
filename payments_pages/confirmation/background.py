"""Take what is due: references to ask about, deliveries to make, leases that ran out.

The sweep is the guarantee; every other door is only speed. Any number may run at once.
"""

import datetime as dt
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from django.db.models import DurationField, Exists, ExpressionWrapper, F, OuterRef, Q

from payments_pages.choices import Attributed, Door, FulfilmentState, Outcome, Reason
from payments_pages.conf import conf
from payments_pages.confirmation.admission import Admission, admit_swept
from payments_pages.confirmation.confirm import confirm_payment
from payments_pages.confirmation.due import (
    due_unvouched,
    forget_unknown,
    open_fulfilments,
    open_verifications,
    other_mode_fulfilments,
    other_mode_verifications,
    vouched_or_mirrored,
)
from payments_pages.db import UtcNow, renew_connections
from payments_pages.exceptions import ConfigurationError, InvalidReference
from payments_pages.models import Fulfilment, FulfilmentQuerySet, PaymentPage

__all__ = ["OTHERS_COUNTED", "SweepReport", "oldest_due", "sweep_due", "take_message"]

logger = logging.getLogger("payments_pages.sweeping")


OTHERS_COUNTED = 1000
"""Rows of the other mode counted of each kind: that there are any is what must be seen."""


@dataclass(slots=True)
class SweepReport:
    """Count what a sweep did: references by outcome, errors, purged unknown references.

    `overrun` are deliveries that it could not take although their lease has ended: a handler is
    at work in them still, or hangs. `other_mode` is what it left alone, references and
    deliveries: it belongs to the mode that this site is not in. `OTHERS_COUNTED` of each kind at
    most.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    errors: int = 0
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
    progress: Callable[[SweepReport], None] = lambda report: None,
    stop: Callable[[], bool] = lambda: False,
) -> SweepReport:
    """Take every due reference through the path once, the oldest first; return the counts.

    Nobody waits here for a delivery that is under way: whatever its lease says, the next row is
    taken, and that one comes again with the next sweep.

    Only rows of this site's mode: what was left by the other one waits until `MODE` is that again.
    References nobody vouched for come last, the likeliest payers first, and only so many a minute
    that turn out unknown.
    Rows that come due meanwhile are taken too. One row's error is logged and counted and stops
    nothing; it comes again by its own schedule. `stop` is asked before each row.
    """
    report = SweepReport()
    underway: list[int] = []
    for reference, asking, admission in _admitted(batch):
        if stop():
            break
        renew_connections()
        try:
            found = confirm_payment(reference, door=Door.SWEEP, refresh=asking, deliver_now=True)
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001 - one row must not stop the others
            report.errors += 1
            admission.charge()
            logger.error(  # noqa: TRY400 - a traceback may quote a payer
                "sweep.row_failed: %s",
                reference,
                extra={"reference": reference, "error": type(error).__name__},
            )
        else:
            report.outcomes[found.outcome] += 1
            if found.outcome is Outcome.DELIVERING and found.fulfilment is not None:
                underway.append(found.fulfilment.pk)
            if found.outcome is Outcome.UNKNOWN:
                admission.charge()
        progress(report)
    report.overrun = _count_overrun(underway)
    report.purged = forget_unknown()
    report.other_mode = sum(
        rows[:OTHERS_COUNTED].count()
        for rows in (other_mode_verifications(), other_mode_fulfilments())
    )
    return report


def _count_overrun(underway: list[int]) -> int:
    """Count, and log in one record, what is under way although its lease has ended."""
    late = Fulfilment.objects.primary().overrun().filter(pk__in=underway[:OTHERS_COUNTED])
    found = list(late.values_list("transaction__reference", flat=True)) if underway else []
    if found:
        logger.error(
            "sweep.overrun: %s deliveries have run for longer than their lease, such as %s",
            len(found),
            found[0],
            extra={"count": len(found), "reference": found[0]},
        )
    return len(found)


def oldest_due() -> dt.timedelta | None:
    """Return for how long the oldest due row has been waiting, by the database; None: nothing is.

    The one figure that shows every failure: it grows when no sweep runs, when the service is
    down and when a handler fails. Rows of the other mode do not count: no sweep could end that.
    """
    waiting = ExpressionWrapper(UtcNow() - F("next_at"), output_field=DurationField())
    ages = [
        rows.due().values_list(waiting, flat=True).first()
        for rows in (open_verifications(), open_fulfilments())
    ]
    return max((age for age in ages if age is not None), default=None)


def _admitted(batch: int) -> Iterator[tuple[str, bool, Admission]]:
    """Yield (reference, "the service must be asked", its admission): strangers last, budgeted."""
    for reference, asking in _due(batch, _next):
        yield reference, asking, Admission()
    for reference, asking in _due(batch, _next_stranger):
        admission = admit_swept()
        if admission is None:
            logger.warning("sweep.put_off")
            return
        yield reference, asking, admission


def _due(batch: int, read: Callable[[int], list[tuple[str, bool]]]) -> Iterator[tuple[str, bool]]:
    """Yield (reference, "the service must be asked") of all that is due, each row once."""
    seen: set[tuple[str, bool]] = set()
    limit = batch
    while True:
        rows = read(limit)
        fresh = [row for row in rows if row not in seen]
        if not fresh and len(rows) < limit:
            return
        # What is taken is no longer due. Only rows that stay due all the same make us look past.
        limit = batch if fresh else limit * 2
        seen.update(fresh)
        yield from fresh


def _next(limit: int) -> list[tuple[str, bool]]:
    asked = vouched_or_mirrored().due().values_list("reference", flat=True)
    given = open_fulfilments().due().values_list("transaction__reference", flat=True)
    lifts = _liftable().values_list("transaction__reference", flat=True)
    rows = [(text, True) for text in asked[:limit]]
    # Of these the answer may be days old, and the money back with the payer.
    rows += [
        (text, True) for text in _lifted().values_list("transaction__reference", flat=True)[:limit]
    ]
    return rows + [(text, False) for texts in (given, lifts) for text in texts[:limit]]


def _liftable() -> FulfilmentQuerySet:
    """Select what is held for want of a page that a payer has claimed by now, or for a worse claim.

    Whoever noted the claim decides again at once, unless it was killed in between, or the hold
    was made a moment after it looked.
    """
    if "callback" not in conf.attribution:
        return open_fulfilments().none()
    tokens = PaymentPage.objects.primary().values("token")
    claims = open_verifications().filter(
        reference_key=OuterRef("reference_key"), page_claim__in=tokens
    )
    # By the claims' mode it is of this one; `open_fulfilments()` would look the same row up again.
    other = claims.exclude(page_claim=OuterRef("transaction__page__token"))
    of_worse_claim = Q(
        Exists(other),
        transaction__attributed_by=Attributed.CALLBACK,
        reason__in=(Reason.AMOUNT_INVALID, Reason.AMOUNT_MISMATCH, Reason.CURRENCY_MISMATCH),
    )
    unattributed = Q(Exists(claims), reason=Reason.UNATTRIBUTED)
    rows = Fulfilment.objects.primary().filter(state=FulfilmentState.HELD)
    return rows.filter(unattributed | of_worse_claim)


def _lifted() -> FulfilmentQuerySet:
    """Select what was held for its page alone, when that page is on sale, and here, by now.

    Staff said that this site sells it, or switched it on again, or a sync has found it so.
    """
    mode = conf.mode_or_blank
    pages = PaymentPage.objects.primary()
    on_sale = pages.confirmed().filter(
        active=True, missing_since__isnull=True, domain__in=("", mode)
    )
    not_on_sale = Q(reason=Reason.PAGE_NOT_ON_SALE, transaction__page__in=on_sale)
    elsewhere = Q(reason=Reason.OTHER_SITE, transaction__page__in=pages.sold_here())
    rows = open_fulfilments().filter(state=FulfilmentState.HELD, decided_by="")
    return rows.filter(not_on_sale | elsewhere)


def _next_stranger(limit: int) -> list[tuple[str, bool]]:
    return [(text, True) for text in due_unvouched().values_list("reference", flat=True)[:limit]]


def take_message(reference: str) -> Outcome | None:
    """Confirm and deliver one reference; None for a message that holds none.

    Every engine's task is this call. It decides nothing by the message, so a lost, doubled, late
    or forged one changes nothing. An engine's own retries are not needed: the row knows when it
    is due again.
    """
    try:
        found = confirm_payment(reference, door=Door.WORKER, deliver_now=True)
    except InvalidReference:
        logger.warning("worker.invalid_message")
        return None
    return found.outcome
