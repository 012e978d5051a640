"""Let staff decide, payers pay twice, and the service take a payment back."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from example_project.demo.history.mishaps import failing, print_nothing
from example_project.demo.history.payers import PAYERS, Payer
from example_project.demo.history.payments import Payment, Till
from example_project.demo.history.scenes import Scene
from example_project.demo.history.troubles import ARCHIVE, EVENING
from example_project.demo.logins import ADMIN, BUYER_EMAIL, find_buyer
from example_project.shop.cards import remembered
from example_project.shop.models import Offer, Order
from example_project.shop.orders import place_order
from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import ExpectedPayment, Transaction
from payments_pages.staff import decisions

__all__ = ["decide", "order_in_popups", "pay_twice", "reverse"]

POPUP = "gift-card"
TWICE = "demo-paid-twice"
_POPUP_DAYS = (3.1, 1.9, 0.8, 0.0)
"""How many days ago gift cards were paid; the last was ordered, and is not paid yet."""
_PATIENCE = 10
"""Seconds after which it is given up that the service is asked again."""


def decide(till: Till) -> Iterator[Scene]:
    """Let staff reject, take a rejection back, approve and attribute what is held; write notes."""
    rejected = Payment(
        reference="demo-rejected",
        slug=ARCHIVE,
        payer=PAYERS[9],
        days_ago=8.4,
        fields={"amount": 100},
    )
    yield Scene(rejected.days_ago, partial(_reject, till, rejected))
    taken_back = Payment(reference="demo-taken-back", slug=EVENING, payer=PAYERS[5], days_ago=2.9)
    yield Scene(taken_back.days_ago, partial(_take_back_a_rejection, till, taken_back))
    approved = Payment(
        reference="demo-approved",
        slug=ARCHIVE,
        payer=PAYERS[5],
        days_ago=9.8,
        fields={"amount": 12000},
    )
    yield Scene(approved.days_ago, partial(_approve, till, approved))
    attributed = Payment(
        reference="demo-attributed",
        slug="",
        payer=PAYERS[4],
        days_ago=11.3,
        door=Door.WEBHOOK,
        fields={"amount": 1250, "currency": "JOD"},
    )
    yield Scene(attributed.days_ago, partial(_attribute, till, attributed))


def _reject(till: Till, payment: Payment) -> None:
    if till.take(payment):
        note = "One shekel for the whole archive: given back by the bank today."
        decisions.reject(_held(payment), actor=ADMIN, note=note)


def _take_back_a_rejection(till: Till, payment: Payment) -> None:
    """Let staff reject a delivery that keeps failing, and think better of it."""
    with failing(print_nothing.__name__, BACKOFF=3600):
        if not till.take(payment):
            return
    decisions.reject(_held(payment), actor=ADMIN, note="The printer is broken: send it back.")
    decisions.reopen(_held(payment), actor=ADMIN, note="He still wants the seat.")


def _approve(till: Till, payment: Payment) -> None:
    if till.take(payment):
        held = _held(payment)
        decisions.add_note(held, actor=ADMIN, note="התקשרה: הבנק ניכה חצי שקל. לאשר.")
        decisions.approve(held, actor=ADMIN, note="Half a shekel short: her bank kept it.")


def _attribute(till: Till, payment: Payment) -> None:
    if till.take(payment):
        note = "اتصل: دفع لأمسية العود."
        decisions.attribute(_held(payment), page=till.page(EVENING), actor=ADMIN, note=note)


def reverse(till: Till) -> tuple[Scene, Callable[[], None]]:
    """Let a payment be delivered; return also what lets the bank take it back, to be called later.

    The service is not asked twice about a reference within a moment.
    """
    payment = Payment(reference="demo-reversed", slug=EVENING, payer=PAYERS[11], days_ago=12.7)

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

    return till.scene(payment), take_back


def order_in_popups(till: Till) -> Iterator[Scene]:
    """Let gift cards be ordered in the shop and paid in popups, one each day, and one never."""
    placed = Order.objects.filter(offer__page__slug=POPUP).count()
    for place, days_ago in tuple(enumerate(_POPUP_DAYS))[placed:]:
        yield Scene(days_ago, partial(_order, till, PAYERS[place], days_ago, keeps=place == 0))


def _order(till: Till, payer: Payer, days_ago: float, *, keeps: bool) -> None:
    """Let a gift card be bought; `keeps`: by the shop's own buyer, who keeps the card."""
    context = {}
    if keeps:
        payer = replace(payer, email=BUYER_EMAIL)
        context = remembered(find_buyer(), saves_card=True)
    expected = place_order(Offer.objects.get(page=till.page(POPUP)), context=context).expected
    if days_ago:
        _pay_in_popup(till, expected, payer, days_ago)


def pay_twice(till: Till) -> Iterator[Scene]:
    """Let somebody pay one order under two references: the second is held."""
    if not till.knows(TWICE):
        yield Scene(0.3, partial(_pay_twice, till, PAYERS[10]))


def _pay_twice(till: Till, payer: Payer) -> None:
    expected = place_order(Offer.objects.get(page=till.page(POPUP))).expected
    _pay_in_popup(till, expected, payer, days_ago=0.303)
    till.take(
        Payment(
            reference=TWICE,
            slug="",
            payer=payer,
            days_ago=0.3,
            door=Door.WEBHOOK,
            fields={
                "amount": expected.amount,
                "currency": expected.currency,
                "metadata": {"payments_pages_expected": expected.reference},
            },
        )
    )


def _pay_in_popup(till: Till, expected: ExpectedPayment, payer: Payer, days_ago: float) -> None:
    reference = expected.reference
    till.control.post(
        "checkouts",
        reference=reference,
        amount=expected.amount,
        currency=expected.currency,
        email=payer.email,
    )
    times = till.times(Payment(reference=reference, slug=POPUP, payer=payer, days_ago=days_ago))
    till.control.post(f"checkouts/{reference}", **times)
    confirm_payment(reference, door=Door.CONFIRM, deliver_now=True)


def _held(payment: Payment) -> Transaction:
    rows = Transaction.objects.select_related("fulfilment")
    return rows.get(reference=payment.reference)
