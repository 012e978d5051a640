"""Make up a site's history: pages, payments, deliveries, asks and what happened, oldest first.

All of it follows from a row's number, so a history of a million payments ends like one of a
thousand: the last `RECENT_DAYS` days hold the same payments whatever lies before them. Rare
things (a status nobody documented, a currency of another account, a live payment, a page that is
no longer sold) lie at the oldest end, where a list that reads until it has found enough finds
them last.
"""

import datetime as dt
import hashlib
import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from payments_pages.choices import (
    Attributed,
    Door,
    EventKind,
    FulfilmentState,
    Reason,
    VerificationState,
)
from payments_pages.client import payer_terms
from payments_pages.pages.changes import slug_key
from payments_pages.references import text_key

__all__ = [
    "PAGES",
    "RECENT",
    "RECENT_DAYS",
    "History",
    "email_of",
    "payer_of",
    "reference_of",
]

PAGES = 500
RECENT, RECENT_DAYS = 900, 30
"""Payments of the last days, at any size: 30 a day."""
PER_DAY = 1000
"""Payments a day before those."""
CURRENCIES = ("ILS", "ILS", "ILS", "ILS", "ILS", "ILS", "JOD", "JOD", "USD", "USD")
_STATUSES = ("success",) * 176 + ("failed",) * 12 + ("abandoned",) * 8 + ("pending", "reversed") * 2
_HELD = (Reason.AMOUNT_MISMATCH, Reason.UNATTRIBUTED, Reason.CURRENCY_MISMATCH)
_CARD = {"bin": "408408", "exp_month": "12", "exp_year": "2030", "brand": "visa"}

Row = dict[str, Any]


def reference_of(number: int) -> str:
    """Return the reference of a payment: in no order, as the service's are."""
    return hashlib.sha256(f"payment {number}".encode()).hexdigest()[:20]


def email_of(number: int) -> str:
    """Return who paid: a thousandth of all are one customer's, the others pay now and then."""
    payer = payer_of(number)
    return f"Payer.{payer}@mail{payer % 7}.example.com"


def payer_of(number: int) -> int:
    """Return the number of who paid: it is in the name, the e-mail address, the phone, the card."""
    return 0 if number % 1000 == 7 else number * 7919 % 300_007


@dataclass(frozen=True, kw_only=True)
class History:
    """Describe the rows of each table, as columns by name, for `size` payments.

    `due` more references wait to be asked about, half of them named by nobody we trust, and the
    deliveries of the last `due` / 2 payments wait for their next try. `first` is the number, and the primary key, of the
    first row of every table.
    """

    size: int
    mode: str
    now: dt.datetime
    due: int = 0
    first: int = 1
    pages_count: int = PAGES

    @property
    def rare(self) -> int:
        """Return how many of the oldest payments are unusual ones."""
        return min(40, self.size // 10)

    def paid_at(self, number: int) -> dt.datetime:
        """Return when a payment was made."""
        from_end = self.size - number
        if from_end <= RECENT:
            return self.now - dt.timedelta(days=RECENT_DAYS * (from_end - 0.5) / RECENT)
        return self.now - dt.timedelta(days=RECENT_DAYS + (from_end - RECENT) / PER_DAY)

    def pages(self) -> Iterator[Row]:
        """Yield the payment pages."""
        for number in range(self.pages_count):
            slug = f"page-{number}"
            yield {
                "id": self.first + number,
                "remote_id": 700_000 + number,
                "token": _uuid("page", number),
                "name": f"Page {number}",
                "description": "",
                "slug": slug,
                "slug_key": slug_key(slug),
                "amount": 1000 + number,
                "currency": CURRENCIES[number % len(CURRENCIES)],
                "active": number % 10 != 0,
                "domain": self.mode,
                "redirect_url": "",
                "custom_fields": "[]",
                "metadata": "{}",
                "created_at": self.now - dt.timedelta(days=1500),
                "updated_at": self.now - dt.timedelta(days=30),
                "synced_at": self.now,
                "inactive_since": None,
                "seller": "",
                "made_here": False,
                "missing_since": None,
                "drift": "{}",
            }

    def transactions(self) -> Iterator[Row]:
        """Yield the payments."""
        dice = random.Random(5)
        kept = {
            "metadata": json.dumps({"referrer": "https://pay.example.com/page", "cart": 17}),
            "log": json.dumps({"start_time": 1_700_000_000, "attempts": 1, "history": [
                {"type": "action", "message": "Attempted to pay", "time": 5},
                {"type": "success", "message": "Successfully paid", "time": 7},
            ]}),
            "unreadable": "{}",
        }  # fmt: skip
        for number in range(self.size):
            page = self._page(number, dice)
            status = self._status(number, dice)
            paid_at = self.paid_at(number)
            took = status in {"success", "reversed"}
            payer = payer_of(number)
            customer = {
                "first_name": f"Muna {payer}", "last_name": f"Haddad-{payer}",
                "phone": f"+9705{payer:08}",
            }  # fmt: skip
            card = {**_CARD, "last4": f"{payer % 10_000:04}"}
            yield {
                "id": self.first + number,
                "reference": reference_of(number),
                "reference_key": text_key(self.mode, reference_of(number)),
                "token": _uuid("result", number),
                "remote_id": 4_000_000_000 + number,
                "domain": "live" if number < self.rare and number % 4 == 0 else self.mode,
                "status": status,
                "amount": 1000 + page,
                "currency": self._currency(number, page),
                "fees": 25,
                "message": "",
                "gateway_response": "Approved" if took else "Declined",
                "channel": "card",
                "ip_address": "203.0.113.9",
                "customer_email": email_of(number),
                "authorization": json.dumps(card),
                "customer": json.dumps(customer),
                **payer_terms(customer, card),
                "paid_at": paid_at if took else None,
                "created_at": paid_at - dt.timedelta(minutes=2),
                **kept,
                "page_id": None if dice.random() < 0.002 else self.first + page,
                "expected_payment_id": None,
                "attributed_by": Attributed.CALLBACK.value,
                "verified_at": paid_at + dt.timedelta(seconds=3),
            }

    def fulfilments(self) -> Iterator[Row]:
        """Yield a delivery for each payment that was a success."""
        late = self.size - self.due // 2
        for row in self.transactions():
            number = row["id"] - self.first
            if row["status"] != "success":
                continue
            state, reason = self._delivery(number)
            if number >= late:
                state, reason = FulfilmentState.FAILED, Reason.NONE
            done = state == FulfilmentState.DELIVERED
            yield {
                "id": row["id"],
                "transaction_id": row["id"],
                "reference_key": row["reference_key"],
                "idempotency_key": _uuid("delivery", number),
                "state": state.value,
                "reason": reason.value,
                "overpaid": number % 211 == 0,
                # One in 400 was refunded or disputed, and staff have seen it.
                "money_back_at": row["verified_at"] if number % 400 == 7 else None,
                "money_back_unseen": False,
                "attempts": 1,
                "next_at": self._overdue(number) if state == FulfilmentState.FAILED else None,
                "last_error": "",
                "decide_again": False,
                "decided_by": "",
                "note": "",
                "delivered_at": row["verified_at"] if done else None,
                "created_at": row["verified_at"],
            }

    def verifications(self) -> Iterator[Row]:
        """Yield an ask for each payment, and then those that are due."""
        for number in range(self.size + self.due):
            waits = number >= self.size
            seen = self.now - dt.timedelta(hours=2) if waits else self.paid_at(number)
            yield {
                "id": self.first + number,
                "reference": reference_of(number),
                "reference_key": text_key(self.mode, reference_of(number)),
                "mode": self.mode,
                "state": (VerificationState.DUE if waits else VerificationState.SETTLED).value,
                "attempts": 1,
                "next_at": self._overdue(number) if waits else None,
                "asked_at": seen,
                "named_at": seen,
                "named_attempt": 0,
                "refresh_attempt": 0,
                "signed_success_at": None,
                "first_door": (Door.WEBHOOK if number % 3 == 0 else Door.CALLBACK).value,
                "vouched": number % 2 == 0 if waits else number % 3 == 0,
                "said_paid": number % 3 == 0,
                "page_claim": None,
                "last_error": "",
                "created_at": seen,
            }

    def events(self) -> Iterator[Row]:
        """Yield three lines of the timeline for each payment."""
        kinds = (EventKind.RECEIVED, EventKind.VERIFIED, EventKind.DELIVERED)
        for number in range(self.size):
            key = text_key(self.mode, reference_of(number))
            for place, kind in enumerate(kinds):
                yield {
                    "id": self.first + 3 * number + place,
                    "reference_key": key,
                    "happened_at": self.paid_at(number) + dt.timedelta(seconds=place),
                    "kind": kind.value,
                    "door": Door.CALLBACK.value,
                    "actor": "",
                    "detail": "",
                }

    def _page(self, number: int, dice: random.Random) -> int:
        """Page 0 sold only in the beginning; of the others page 1 makes a seventh of all sales."""
        others = self.pages_count - 1
        if number < self.rare or not others:
            return 0
        return 1 + int(dice.random() * others) * (dice.random() > 1 / 7)

    def _status(self, number: int, dice: random.Random) -> str:
        chosen = dice.choice(_STATUSES)
        return "sca_required" if number < self.rare and number % 8 == 5 else chosen

    def _currency(self, number: int, page: int) -> str:
        rare = number < self.rare and number % 8 == 2
        return "EUR" if rare else CURRENCIES[page % len(CURRENCIES)]

    def _delivery(self, number: int) -> tuple[FulfilmentState, Reason]:
        """Nearly all is delivered; what is held or rejected lies among the older ones.

        Some sixty are held, at any size: staff decide about them.
        """
        if number < self.size // 2 and number % max(1, self.size // 120) == 1:
            return FulfilmentState.HELD, _HELD[number % len(_HELD)]
        if number < self.rare and number % 8 == 3:
            return FulfilmentState.REJECTED, Reason.AMOUNT_MISMATCH
        return FulfilmentState.DELIVERED, Reason.NONE

    def _overdue(self, number: int) -> dt.datetime:
        return self.now - dt.timedelta(seconds=60 + number % 600)


def _uuid(kind: str, number: int) -> uuid.UUID:
    digest = hashlib.md5(f"{kind} {number}".encode(), usedforsecurity=False).digest()
    return uuid.UUID(bytes=digest, version=4)  # MariaDB refuses what is no version of them
