"""The backlog: all rows that are due, in the order in which a sweep takes them.

Several sweeps may read the same rows, so a row is looked at again just before it is taken. No lock
is taken by reading: on MariaDB and MySQL a locking read that sorts rows locks all that it has
sorted, and the other sweeps would find nothing. The claim of each row is the guard.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from payments_pages.choices import Attributed, FulfilmentState, Reason
from payments_pages.conf import conf
from payments_pages.confirmation.due import (
    due_unvouched,
    open_fulfilments,
    open_verifications,
    vouched_or_mirrored,
)
from payments_pages.confirmation.unattributed_holds import to_decide_again
from payments_pages.models import Fulfilment, FulfilmentQuerySet, PaymentPage

__all__ = ["OTHERS_COUNTED", "Work", "count_due", "count_unasked", "due_work", "unvouched_work"]

OTHERS_COUNTED: Final = 1000
"""At most so many rows that a sweep leaves are counted, of each kind: staff must see that there are
some, not how many."""


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of one kind that are due. `asks`: the service must be asked about them.

    `order` is that of an index, so that the oldest and the newest rows are read without the others.
    `is_unattributed`: holds that are only taken if something now says what they pay for.
    """

    rows: Callable[[], "QuerySet[Any]"]
    order: tuple[str, ...]
    reference: str
    asks: bool
    is_unattributed: bool = False

    def read(self, limit: int) -> "Iterator[Work]":
        """Yield `limit` rows: the newest and the oldest in turns, beginning with the newest.

        A payer who has just come does not wait behind a backlog of hours, and no old row waits
        for ever.
        """
        half = (limit + 1) // 2
        oldest = self._read(self.order, half)
        if len(oldest) < half:
            newest = oldest[::-1]
        else:
            newest = self._read([f"-{name}" for name in self.order], limit // 2)
        pairs = zip_longest(newest, oldest)
        rows = dict.fromkeys(row for row in chain.from_iterable(pairs) if row is not None)
        return (Work(self, pk, reference) for pk, reference in rows)

    def _read(self, order: Iterable[str], limit: int) -> list[tuple[int, str]]:
        return list(self.rows().order_by(*order).values_list("pk", self.reference)[:limit])


@dataclass(frozen=True, slots=True)
class Work:
    """One row that was due when it was read."""

    source: Source
    pk: int
    reference: str

    @property
    def asks(self) -> bool:
        """Say whether the service must be asked about it."""
        return self.source.asks

    def is_due(self) -> bool:
        """Look at the row again: another sweep may have taken it since it was read."""
        return self.source.rows().filter(pk=self.pk).exists()


def due_work(batch: int, *, may_ask: Callable[[], bool]) -> Iterator[Work]:
    """Yield all that is due, each row once; not the references that nobody vouched for.

    Rows that become due meanwhile are yielded, too. While `may_ask` is false, only rows that need
    no call to the service are read.
    """

    def read(limit: int) -> list[Work]:
        sources = [source for source in _SOURCES if not source.asks or may_ask()]
        in_turns = zip_longest(*(source.read(limit) for source in sources))
        return [work for work in chain.from_iterable(in_turns) if work is not None]

    return _each_once(batch, read)


def unvouched_work(batch: int) -> Iterator[Work]:
    """Yield the due references that nobody vouched for, the most likely payers first."""
    return _each_once(batch, lambda limit: [*_read_unvouched(limit)])


def count_due() -> int:
    """Count the due references and deliveries, up to `OTHERS_COUNTED` of each kind."""
    return count_unasked() + open_fulfilments().due()[:OTHERS_COUNTED].count()


def count_unasked() -> int:
    """Count the references that the service must be asked about now, up to `OTHERS_COUNTED`."""
    return open_verifications().due()[:OTHERS_COUNTED].count()


def _each_once(batch: int, read: Callable[[int], list[Work]]) -> Iterator[Work]:
    """Yield what `read` finds, in batches, until it finds nothing new."""
    seen: set[tuple[int, int]] = set()
    limit = batch
    while True:
        rows = read(limit)
        fresh = [work for work in rows if (id(work.source), work.pk) not in seen]
        if not fresh and len(rows) < limit:
            return
        # A row that was taken is usually no longer due. If a whole batch is still due, read more
        # rows, to find those behind it.
        limit = batch if fresh else limit * 2
        seen.update((id(work.source), work.pk) for work in fresh)
        yield from fresh


def _held_in_doubt() -> FulfilmentQuerySet:
    """Return the holds that a page hint may end.

    - Unattributed holds whose payer has since come back by a page's own callback.
    - Holds about amount or currency that were attributed by another page hint than the stored one.

    The caller that stores a page hint decides again at once. These rows are left if it was killed
    before that, or if the hold was made just after it had looked.
    """
    if "callback" not in conf.attribution:
        return open_fulfilments().none()
    tokens = PaymentPage.objects.primary().values("token")
    hinted = open_verifications().filter(
        reference_key=OuterRef("reference_key"), page_claim__in=tokens
    )
    # `hinted` has only rows of this mode. `open_fulfilments()` would look up the same row again.
    other = hinted.exclude(page_claim=OuterRef("transaction__page__token"))
    by_other_hint = Q(
        Exists(other),
        transaction__attributed_by=Attributed.CALLBACK,
        reason__in=(Reason.AMOUNT_INVALID, Reason.AMOUNT_MISMATCH, Reason.CURRENCY_MISMATCH),
    )
    unattributed = Q(Exists(hinted), reason=Reason.UNATTRIBUTED)
    rows = Fulfilment.objects.primary().filter(state=FulfilmentState.HELD)
    return rows.filter(unattributed | by_other_hint)


def _on_sale_again() -> FulfilmentQuerySet:
    """Return the holds whose only reason was the page, and whose page is now on sale here.

    Staff said that this site sells the page, or switched it on again, or a sync found it on sale.
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


_BY_TIME: Final = ("next_at", "pk")
_BY_PAYMENT: Final = ("transaction_id",)
_THEIR: Final = "transaction__reference"

_SOURCES: Final = (
    Source(lambda: vouched_or_mirrored().due(), _BY_TIME, "reference", asks=True),
    # The service must be asked about these: its answer may be days old, and the payment reversed.
    Source(_on_sale_again, _BY_PAYMENT, _THEIR, asks=True),
    Source(lambda: open_fulfilments().due(), _BY_TIME, _THEIR, asks=False),
    Source(_held_in_doubt, _BY_PAYMENT, _THEIR, asks=False),
    Source(to_decide_again, _BY_PAYMENT, _THEIR, asks=False, is_unattributed=True),
)
_UNVOUCHED: Final = Source(due_unvouched, (), "reference", asks=True)


def _read_unvouched(limit: int) -> Iterator[Work]:
    rows = due_unvouched().values_list("pk", "reference")[:limit]
    return (Work(_UNVOUCHED, pk, reference) for pk, reference in rows)
