"""Give the goods: the one function that `PAYMENTS_PAGES["HANDLER"]` names."""

from example_project.shop.models import Licence, Offer
from example_project.shop.orders import find_order
from payments_pages.choices import Mode
from payments_pages.exceptions import PermanentFulfilmentError
from payments_pages.models import Fulfilment

__all__ = ["ASKED", "FAIL", "FAIL_ONCE", "deliver"]

ASKED = "sandbox"
"""The key of a payment's metadata under which the sandbox's page says what the payer tries."""
FAIL, FAIL_ONCE = "fail_delivery", "fail_delivery_once"


def deliver(fulfilment: Fulfilment) -> None:
    """Give one licence for one paid transaction.

    Runs inside the transaction that marks the fulfilment as delivered: the licence and the mark
    are stored together or not at all. Raise `PermanentFulfilmentError` when the shop sells
    nothing for this payment: staff see it held, and no retry is wasted.
    """
    payment = fulfilment.transaction
    _fail_if_asked(fulfilment)
    order = find_order(payment)
    offer = order.offer if order else Offer.objects.filter(page=payment.page).first()
    if offer is None:
        raise PermanentFulfilmentError("The shop offers nothing on this payment's page.")
    Licence.objects.create(
        offer=offer, order=order, fulfilment=fulfilment, email=payment.customer_email
    )


def _fail_if_asked(fulfilment: Fulfilment) -> None:
    """Fail as a handler does whose printer is away, where a payer of test money tries that."""
    payment = fulfilment.transaction
    asked = payment.metadata.get(ASKED) if isinstance(payment.metadata, dict) else None
    once = asked == FAIL_ONCE and fulfilment.attempts == 1
    if payment.domain == Mode.TEST and (asked == FAIL or once):
        raise TimeoutError("The ticket printer does not answer.")
