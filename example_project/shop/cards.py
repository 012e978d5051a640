"""Keep the card of a buyer who asked for it, and charge it for another order."""

import logging
from typing import Any, cast

import requests
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from example_project.shop.models import Order
from payments_pages.conf import conf
from payments_pages.confirmation import Confirmation, confirm_payment
from payments_pages.models import SavedCard, Transaction

__all__ = ["cards_of", "owner", "pay_with_card", "remembered"]

logger = logging.getLogger("shop.cards")

SETTING = "CHARGE_URL"
TIMEOUT = 8


def charge_url() -> str:
    """Return where the service charges a saved card."""
    return cast("str", getattr(settings, SETTING))


def remembered(user: Any, *, saves_card: bool) -> dict[str, Any]:
    """Return what an expected payment keeps of its buyer: the account, and the wish to keep the card.

    Nothing of somebody who is not signed in.
    """
    return {"user": str(user.pk), "save_card": saves_card} if user.is_authenticated else {}


def owner(payment: Transaction) -> Any:
    """Return the buyer who asked to keep the card; None: it is not saved.

    The one function that `PAYMENTS_PAGES["SAVE_CARD"]` names. What the payer typed at the service,
    such as the e-mail address, says nothing of whose card it is.
    """
    expected = payment.expected_payment
    if expected is None or not expected.context.get("save_card"):
        return None
    return get_user_model().objects.filter(pk=expected.context["user"]).first()


def cards_of(user: Any) -> "QuerySet[SavedCard]":
    """Return a user's cards that can be charged now, the one saved last first."""
    return SavedCard.objects.of(user).filter(domain=conf.mode).order_by("-saved_at", "-pk")


def pay_with_card(order: Order, card: SavedCard) -> Confirmation:
    """Charge a card for an order, and confirm the payment.

    The call is in the sandbox's own words: the service's interface does not show it. Whatever it
    answers, the service is asked whether the order is paid. Raise `UnusableCardKeys`, and send
    nothing, if no key of `CARD_KEYS` reads the card's code.
    """
    expected = order.expected
    try:
        requests.post(
            charge_url(),
            headers={"Authorization": f"Bearer {settings.PAYMENTS_PAGES['SECRET_KEY']}"},
            json={
                "authorization_code": card.authorization_code(),
                "amount": expected.amount,
                "currency": expected.currency,
                "reference": expected.reference,
            },
            timeout=TIMEOUT,
            allow_redirects=False,
        )
    except requests.RequestException:
        logger.warning("No answer to the charge of %s", expected.reference)
    return confirm_payment(expected.reference, vouched=True)
