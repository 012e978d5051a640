"""Let staff decide, payers pay twice, and the service take a payment back."""

import time
from collections.abc import Callable

from example_project.demo.history.payers import PAYERS
from example_project.demo.history.payments import Payment, Till
from example_project.demo.history.troubles import ARCHIVE, EVENING
from example_project.demo.logins import ADMIN
from example_project.shop.models import Offer, Order
from example_project.shop.orders import place_order
from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Transaction
from payments_pages.staff import decisions

__all__ = ["decide", "order_in_popups", "pay_twice", "reverse"]

POPUP = "gift-card"
TWICE = "demo-paid-twice"
_PATIENCE = 10
"""Seconds after which it is given up that the service is asked again."""


def decide(till: Till) -> None:
    """Let staff reject, approve and attribute what is held, and write a note."""
    rejected = Payment(
        reference="demo-rejected",
        slug=ARCHIVE,
        payer=PAYERS[9],
        days_ago=8.4,
        fields={"amount": 100},
    )
    if till.take(rejected):
        decisions.reject(
            _held(rejected),
            actor=ADMIN,
            note="One shekel for the whole archive: given back by the bank today.",
        )
    approved = Payment(
        reference="demo-approved",
        slug=ARCHIVE,
        payer=PAYERS[5],
        days_ago=9.8,
        fields={"amount": 12000},
    )
    if till.take(approved):
        held = _held(approved)
        decisions.add_note(held, actor=ADMIN, note="התקשרה: הבנק ניכה חצי שקל. לאשר.")
        decisions.approve(held, actor=ADMIN, note="Half a shekel short: her bank kept it.")
    attributed = Payment(
        reference="demo-attributed",
        slug="",
        payer=PAYERS[4],
        days_ago=11.3,
        door=Door.WEBHOOK,
        fields={"amount": 1250, "currency": "JOD"},
    )
    if till.take(attributed):
        decisions.attribute(
            _held(attributed), page=till.page(EVENING), actor=ADMIN, note="اتصل: دفع لأمسية العود."
        )


def reverse(till: Till) -> Callable[[], None]:
    """Let a payment be delivered; return what lets the bank take it back, to be called later.

    The service is not asked twice about a reference within a moment.
    """
    payment = Payment(reference="demo-reversed", slug=EVENING, payer=PAYERS[11], days_ago=12.7)
    till.take(payment)

    def take_back() -> None:
        till.control.post(f"transactions/{payment.reference}", status="reversed")
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            found = confirm_payment(
                payment.reference, door=Door.WEBHOOK, vouched=True, refresh=True, deliver_now=True
            )
            if found.transaction is not None and found.transaction.status == "reversed":
                return
            time.sleep(0.25)

    return take_back


def order_in_popups(till: Till, number: int) -> None:
    """Let so many gift cards be ordered in the shop and paid in popups, and one left unpaid."""
    offer = Offer.objects.get(page=till.page(POPUP))
    for place in range(Order.objects.filter(offer=offer).count(), number + 1):
        reference = place_order(offer).expected.reference
        if place == number:
            return
        _pay_in_popup(till, offer, reference, email=PAYERS[place % len(PAYERS)].email)
        confirm_payment(reference, door=Door.CONFIRM, deliver_now=True)


def pay_twice(till: Till) -> None:
    """Let somebody pay one order under two references: the second is held."""
    if till.knows(TWICE):
        return
    offer = Offer.objects.get(page=till.page(POPUP))
    payer = PAYERS[10]
    ordered = place_order(offer).expected
    _pay_in_popup(till, offer, ordered.reference, email=payer.email)
    confirm_payment(ordered.reference, door=Door.CONFIRM, deliver_now=True)
    till.take(
        Payment(
            reference=TWICE,
            slug="",
            payer=payer,
            days_ago=0.3,
            door=Door.WEBHOOK,
            fields={
                "amount": ordered.amount,
                "currency": ordered.currency,
                "metadata": {"payments_pages_expected": ordered.reference},
            },
        )
    )


def _pay_in_popup(till: Till, offer: Offer, reference: str, *, email: str) -> None:
    till.control.post(
        "checkouts",
        reference=reference,
        amount=offer.page.amount,
        currency=offer.page.currency,
        email=email,
    )
    till.control.post(f"checkouts/{reference}")


def _held(payment: Payment) -> Transaction:
    rows = Transaction.objects.select_related("fulfilment")
    return rows.get(reference=payment.reference)
