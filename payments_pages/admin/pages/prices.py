"""A price far above all others: staff are asked once whether they mean it."""

from typing import Final

from django.db.models import Max

from payments_pages.admin.pages.currencies import HUNDREDTHS
from payments_pages.conf import conf
from payments_pages.models import PaymentPage

__all__ = ["is_far_above"]

TIMES: Final = 20
"""How many times the highest price a new one may be: more is often a lost decimal point."""
ORDINARY: Final = 10_000
"""Major units that nobody is asked about, however low the other prices are (our decision)."""


def is_far_above(amount: int, currency: str) -> bool:
    """Return whether a price is far above those of the account's pages in this currency.

    `amount` is in minor units. A blank currency has two decimals.
    """
    exponent = conf.exponents.get(currency, HUNDREDTHS)
    ordinary: int = ORDINARY * 10**exponent
    if amount <= ordinary:
        return False
    pages = PaymentPage.objects.primary().confirmed().filter(currency=currency)
    if mode := conf.mode_or_blank:
        pages = pages.filter(domain=mode)
    highest: int | None = pages.aggregate(highest=Max("amount"))["highest"]
    return highest is None or amount > TIMES * highest
