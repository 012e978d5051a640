"""What an export says of each payment: its columns, and the rows, any number of them.

Rows are read in short queries of `CHUNK` rows, newest first, each starting where the last one
ended: no cursor, transaction or snapshot stays open during the download, and MariaDB's driver,
which fetches a whole result at once, holds one chunk. A payment that arrives during the export is
not in it; one that changes meanwhile is in it once, as it was before or after the change.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from enum import Enum, auto
from typing import Any, Final, NamedTuple, TypeAlias

from django.db.models import QuerySet
from django.utils import timezone

from payments_pages.choices import Attributed, EventKind, FulfilmentState
from payments_pages.client import (
    brand_of,
    full_name,
    last_four,
    phone_of,
    read_answers,
    read_questions,
)
from payments_pages.conf import conf
from payments_pages.models import Event, PaymentPage, Transaction
from payments_pages.money import fold_currency, major_text
from payments_pages.staff.masking import MASK, mask_email, mask_name, mask_phone, mask_whole

__all__ = ["CHUNK", "COLUMNS", "CUSTOMER_COLUMNS", "Kind", "Payments", "Value"]

CHUNK: Final = 2000


class Kind(Enum):
    """What the values of a column are; any value may be None.

    - `WORD`: a text.
    - `CODE`: a text that must not become a number or a date, such as a reference of digits.
    - `MINOR`: an `int` of minor units.
    - `MAJOR`: a `Decimal` of major units, with the decimals of its currency.
    - `DAY`, `TIME`, `MOMENT`: a date, a time of the day, or both with their offset from UTC.
    - `ANSWERS`: a dict of texts by question, or the mask of one.
    """

    WORD = auto()
    CODE = auto()
    MINOR = auto()
    MAJOR = auto()
    DAY = auto()
    TIME = auto()
    MOMENT = auto()
    ANSWERS = auto()


Value: TypeAlias = str | int | Decimal | dt.date | dt.time | dt.datetime | Mapping[str, str] | None

CUSTOMER_COLUMNS: Final = {
    "customer_email": Kind.WORD,
    "customer_name": Kind.WORD,
    "customer_phone": Kind.CODE,
    "card_brand": Kind.WORD,
    "card_last4": Kind.CODE,
    "ip_address": Kind.WORD,
}
COLUMNS: Final = {
    "reference": Kind.CODE,
    "status": Kind.WORD,
    "fulfilment": Kind.WORD,
    "reason": Kind.WORD,
    "amount_minor": Kind.MINOR,
    "amount": Kind.MAJOR,
    "currency": Kind.WORD,
    "fees_minor": Kind.MINOR,
    "fees": Kind.MAJOR,
    "net_minor": Kind.MINOR,
    "net": Kind.MAJOR,
    "channel": Kind.WORD,
    "mode": Kind.WORD,
    "page_slug": Kind.CODE,
    "page_name": Kind.CODE,
    "paid_on": Kind.DAY,
    "paid_time": Kind.TIME,
    "paid_at": Kind.MOMENT,
    "created_at": Kind.MOMENT,
    "verified_at": Kind.MOMENT,
    "delivered_at": Kind.MOMENT,
    "money_back_at": Kind.MOMENT,
    "decision": Kind.WORD,
    "decided_by": Kind.CODE,
    "decided_at": Kind.MOMENT,
    "decision_note": Kind.CODE,
    **CUSTOMER_COLUMNS,
}
"""The columns of every export, before those of the answers.

The names are the same in every language and version: programs can rely on them. Of the card only
its brand and last four digits are exported, and of the metadata only the answers.
"""
_READ: Final = (
    "pk", "reference", "reference_key", "status", "amount", "currency", "fees", "channel", "domain",
    "paid_at", "created_at", "verified_at", "customer_email", "customer", "authorization",
    "ip_address", "metadata", "attributed_by", "fulfilment__state", "fulfilment__reason",
    "fulfilment__delivered_at", "fulfilment__money_back_at", "fulfilment__decided_by",
    "fulfilment__note", "page__slug", "page__name", "page__custom_fields",
)  # fmt: skip

_DECISIONS: Final = (
    EventKind.APPROVED,
    EventKind.REJECTED,
    EventKind.REOPENED,
    EventKind.ATTRIBUTED,
)


class _Decision(NamedTuple):
    """The last decision of staff about a hold, as the timeline has it."""

    kind: str | None = None
    actor: str | None = None
    moment: dt.datetime | None = None
    note: str | None = None


class Payments:
    """The payments of an export: the names and kinds of the columns, and the rows.

    - `page`: the page that all of them belong to. Each of its questions then has a column of its
      own, such as `answer: Size`.
    - Without `customers_shown` what says who the payer is, and all answers, are masked.

    Times are in the time zone that is current when the object is made: rows are read later, when
    a middleware may have left it.
    """

    def __init__(
        self,
        transactions: QuerySet[Transaction],
        *,
        customers_shown: bool,
        page: PaymentPage | None,
    ) -> None:
        self._transactions = transactions
        self._customers_shown = customers_shown
        self._questions = read_questions(page.custom_fields) if page is not None else ()
        self._exponents = conf.exponents
        self._zone = timezone.get_current_timezone()
        asked = {f"answer: {question}": Kind.CODE for question in self._questions}
        self.columns: Mapping[str, Kind] = {**COLUMNS, **asked, "answers": Kind.ANSWERS}

    def chunks(self) -> Iterator[Iterator[tuple[Value, ...]]]:
        """Yield the rows from the newest to the oldest; each query continues after the last row."""
        ordered = self._transactions.order_by("-pk").values_list(*_READ)
        rest = ordered
        while chunk := list(rest[:CHUNK]):
            decisions = self._decisions(map(_named, chunk))
            yield (self._values(row, decisions) for row in map(_named, chunk))
            if len(chunk) < CHUNK:
                return
            rest = ordered.filter(pk__lt=chunk[-1][0])

    def _decisions(self, chunk: Iterable[Mapping[str, Any]]) -> dict[str, _Decision]:
        """Return the last decision about each of them, by its key; no query without decisions.

        Old lines of the timeline may have been deleted: then who decided is still in the row.
        """
        decided = {row["reference_key"]: _kept(row) for row in chunk if _is_decided(row)}
        lines = Event.objects.using(self._transactions.db).filter(
            reference_key__in=decided, kind__in=_DECISIONS
        )
        for line in lines.order_by("pk"):
            decided[line.reference_key] = _Decision(
                line.kind, line.actor, line.happened_at, line.detail
            )
        return decided

    def _values(
        self, row: Mapping[str, Any], decisions: Mapping[str, _Decision]
    ) -> tuple[Value, ...]:
        amount, fees = row["amount"], row["fees"]
        net = None if amount is None or fees is None else amount - fees
        exponent = self._exponents.get(fold_currency(row["currency"]))
        paid = self._local(row["paid_at"])
        decision = decisions.get(row["reference_key"], _Decision())
        return (
            row["reference"],
            row["status"],
            row["fulfilment__state"],
            row["fulfilment__reason"],
            amount,
            _major(amount, exponent),
            row["currency"],
            fees,
            _major(fees, exponent),
            net,
            _major(net, exponent),
            row["channel"],
            row["domain"],
            row["page__slug"],
            row["page__name"],
            paid and paid.date(),
            paid and paid.time(),
            paid,
            self._local(row["created_at"]),
            self._local(row["verified_at"]),
            self._local(row["fulfilment__delivered_at"]),
            self._local(row["fulfilment__money_back_at"]),
            decision.kind,
            decision.actor,
            self._local(decision.moment),
            decision.note,
            *self._payer(row),
            *self._answers(row),
        )

    def _payer(self, row: Mapping[str, Any]) -> list[str]:
        """Return the values of `CUSTOMER_COLUMNS`."""
        customer, card = row["customer"], row["authorization"]
        payer = [
            row["customer_email"],
            full_name(customer),
            phone_of(customer),
            brand_of(card),
            last_four(card),
            row["ip_address"],
        ]
        if self._customers_shown:
            return payer
        masks = (mask_email, mask_name, mask_phone, mask_whole, mask_whole, mask_whole)
        return [mask(text) for mask, text in zip(masks, payer, strict=True)]

    def _answers(self, row: Mapping[str, Any]) -> list[str | Mapping[str, str] | None]:
        """Return the answer to each question, and those that have no column."""
        metadata = row["metadata"]
        given = read_answers(metadata, row["page__custom_fields"]) if metadata else {}
        answers = [given.pop(question, "") for question in self._questions]
        if self._customers_shown:
            return [*answers, given or None]
        return [*map(mask_whole, answers), MASK if given else None]

    def _local(self, moment: dt.datetime | None) -> dt.datetime | None:
        """Return a moment in the export's time zone, without parts of a second."""
        if moment is None:
            return None
        try:
            return timezone.localtime(moment, self._zone).replace(microsecond=0)
        except OverflowError:  # the last hours of the year 9999, which the service may send
            return moment.replace(microsecond=0)


def _named(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(_READ, row, strict=True))


def _is_decided(row: Mapping[str, Any]) -> bool:
    attributed = row["attributed_by"] == Attributed.STAFF
    return bool(row["fulfilment__decided_by"] or row["fulfilment__note"]) or attributed


def _kept(row: Mapping[str, Any]) -> _Decision:
    """Return what the row itself says of a decision."""
    if not row["fulfilment__decided_by"]:
        return _Decision()
    rejected = row["fulfilment__state"] == FulfilmentState.REJECTED
    kind = EventKind.REJECTED if rejected else EventKind.APPROVED
    return _Decision(kind.value, row["fulfilment__decided_by"], None, row["fulfilment__note"])


def _major(amount: int | None, exponent: int | None) -> Decimal | None:
    if amount is None or exponent is None:
        return None
    return Decimal(major_text(amount, exponent))
