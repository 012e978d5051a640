"""Make one of everything that can become of a payment, under references that say which."""

import time
from collections.abc import Iterator
from functools import partial

from example_project.demo.history.fates import DRIFTING, ELSEWHERE, INACTIVE, LOST
from example_project.demo.history.mishaps import failing, print_nothing, sell_nothing
from example_project.demo.history.payers import PAYERS
from example_project.demo.history.payments import Payment, Till
from example_project.demo.history.scenes import Scene
from example_project.shop.handlers import FAIL
from payments_pages.choices import Door, FulfilmentState
from payments_pages.models import Fulfilment

__all__ = [
    "ARCHIVE",
    "EVENING",
    "FAILS",
    "GIFTS",
    "failures",
    "off_sale",
    "on_lost_pages",
    "troubles",
]

ARCHIVE, EVENING, GIFTS = "photo-archive", "oud-evening", "friends-of-the-library"
FAILS = "demo-delivery-failed"
"""The payment whose delivery fails for as long as the demo runs."""
_LATER = 3600.0
_TRIES = 3
"""Tries after which a delivery that is to look hopeless has failed too often."""


def on_lost_pages() -> Iterator[Payment]:
    """Yield what was paid on pages while they were still there and for sale."""
    yield Payment(reference="demo-paper-catalogue", slug=LOST, payer=PAYERS[3], days_ago=27.2)
    yield Payment(reference="demo-pottery-week-1", slug=INACTIVE, payer=PAYERS[5], days_ago=21.4)
    yield Payment(reference="demo-pottery-week-2", slug=INACTIVE, payer=PAYERS[7], days_ago=19.1)


def off_sale() -> Iterator[Payment]:
    """Yield what was paid where this shop did not sell any more, or never did."""
    yield Payment(
        reference="demo-off-sale",
        slug=INACTIVE,
        payer=PAYERS[2],
        days_ago=7.1,
        door=Door.WEBHOOK,
    )
    yield Payment(
        reference="demo-another-site",
        slug=ELSEWHERE,
        payer=PAYERS[7],
        days_ago=4.6,
        door=Door.WEBHOOK,
    )


def troubles(till: Till) -> Iterator[Payment]:
    """Yield the payments that the path alone leads to where they end."""
    yield Payment(
        reference="demo-overpaid",
        slug=EVENING,
        payer=PAYERS[2],
        days_ago=3.3,
        fields={"amount": 1300},
    )
    yield Payment(
        reference="demo-with-an-answer",
        slug=DRIFTING,
        payer=PAYERS[8],
        days_ago=0.6,
        fields={"metadata": till.metadata(DRIFTING, Level="مبتدئة")},
    )
    yield from _held()
    yield from _unpaid()


def _held() -> Iterator[Payment]:
    yield Payment(
        reference="demo-paid-too-little",
        slug=ARCHIVE,
        payer=PAYERS[0],
        days_ago=0.1,
        fields={"amount": 9000},
    )
    yield Payment(
        reference="demo-other-currency",
        slug=ARCHIVE,
        payer=PAYERS[9],
        days_ago=0.4,
        fields={"currency": "USD"},
    )
    yield Payment(
        reference="demo-live-money",
        slug=EVENING,
        payer=PAYERS[6],
        days_ago=1.2,
        fields={"domain": "live"},
    )
    yield Payment(
        reference="demo-amount-unreadable",
        slug=ARCHIVE,
        payer=PAYERS[1],
        days_ago=2.6,
        said={"amount": "120.50"},
    )
    yield Payment(
        reference="demo-two-pages", slug=ARCHIVE, payer=PAYERS[4], days_ago=4.1, claim=DRIFTING
    )
    yield Payment(
        reference="demo-for-no-page",
        slug="",
        payer=PAYERS[10],
        days_ago=0.9,
        door=Door.WEBHOOK,
        fields={"amount": 5000},
    )


def _unpaid() -> Iterator[Payment]:
    yield Payment(
        reference="demo-declined", slug=ARCHIVE, payer=PAYERS[3], days_ago=5.5, status="failed"
    )
    yield Payment(
        reference="demo-abandoned", slug=EVENING, payer=PAYERS[11], days_ago=6.2, status="abandoned"
    )
    yield Payment(
        reference="demo-pending", slug=EVENING, payer=PAYERS[7], days_ago=0.05, status="pending"
    )
    yield Payment(
        reference="demo-ongoing",
        slug=GIFTS,
        payer=PAYERS[2],
        days_ago=0.03,
        status="ongoing",
        fields={"amount": 2500},
    )


def failures(till: Till) -> Iterator[Scene]:
    """Let deliveries fail: for as long as the demo runs; too often; and for good."""
    waiting = Payment(
        reference=FAILS,
        slug=EVENING,
        payer=PAYERS[1],
        days_ago=0.2,
        fields={"metadata": till.metadata(EVENING, asked=FAIL)},
    )
    yield Scene(waiting.days_ago, partial(_fail, till, waiting))
    spent = Payment(reference="demo-attempts-spent", slug=EVENING, payer=PAYERS[8], days_ago=1.7)
    yield Scene(spent.days_ago, partial(_fail_too_often, till, spent))
    sold_out = Payment(reference="demo-sold-out", slug=EVENING, payer=PAYERS[6], days_ago=2.1)
    yield Scene(sold_out.days_ago, partial(_fail_for_good, till, sold_out))


def _fail(till: Till, payment: Payment) -> None:
    with failing(BACKOFF=_LATER):
        till.take(payment)


def _fail_too_often(till: Till, payment: Payment) -> None:
    with failing(print_nothing.__name__, BACKOFF=0.01, MAX_ATTEMPTS=_TRIES):
        taken = till.take(payment)
        while taken and _state(payment.reference) == FulfilmentState.FAILED:
            time.sleep(0.05)
            till.confirm(payment)


def _fail_for_good(till: Till, payment: Payment) -> None:
    with failing(sell_nothing.__name__):
        till.take(payment)


def _state(reference: str) -> str:
    return Fulfilment.objects.values_list("state", flat=True).get(transaction__reference=reference)
