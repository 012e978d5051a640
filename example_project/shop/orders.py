"""Take orders that are paid in a popup, and find them again when they are paid."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from example_project.shop.models import Offer, Order
from payments_pages.models import ExpectedPayment, Transaction

__all__ = ["find_order", "place_order"]


def place_order(offer: Offer, *, context: Mapping[str, Any] | None = None) -> Order:
    """Make an order and the payment expected of it, with its context: both, or neither.

    Amount (minor units) and currency are the page's own, never the browser's: what is paid later
    is held against them. Raise `ValueError` for a page on which the payer chooses the amount.
    """
    page = offer.page
    if page.amount is None:
        raise ValueError("What has no price cannot be ordered.")
    with transaction.atomic():
        expected = ExpectedPayment.objects.expect(
            amount=page.amount, currency=page.currency, page=page, context=dict(context or {})
        )
        return Order.objects.create(offer=offer, expected=expected)


def find_order(payment: Transaction) -> Order | None:
    """Return the order that a payment is for; None for a payment made on a hosted page."""
    if payment.expected_payment is None:
        return None
    orders = Order.objects.select_related("offer")
    return orders.filter(expected=payment.expected_payment).first()
