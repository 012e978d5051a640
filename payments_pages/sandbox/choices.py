"""What a payer may choose on a hosted page, and what becomes of the payment then."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from payments_pages.sandbox.checkouts import CURRENCIES
from payments_pages.sandbox.payloads import Payload

__all__ = ["ASKED", "CHOICES", "FAIL_ONCE", "Choice", "gettext"]

ASKED = "sandbox"
FAIL_ONCE = "fail_delivery_once"
"""What a payment's metadata says under `ASKED` when the payer wants its delivery to fail once.

The sandbox cannot make that happen: it does not know who delivers. A handler that is made to be
tried looks for it (`example_project/shop/handlers.py`); to any other the payment is like all.
"""


def gettext(text: str) -> str:
    """Mark a text for the catalogue; it is translated when it is shown."""
    return text


def _same(data: Payload) -> Payload:
    return data


def _less(data: Payload) -> Payload:
    amount = max(1, data["amount"] * 3 // 4)
    return {**data, "amount": amount, "fees": amount // 100}


def _other_currency(data: Payload) -> Payload:
    other = next(currency for currency in CURRENCIES if currency != data["currency"])
    return {**data, "currency": other}


def _fail_once(data: Payload) -> Payload:
    return {**data, "metadata": {**_object(data["metadata"]), ASKED: FAIL_ONCE}}


def _object(metadata: object) -> Payload:
    """Return metadata as an object, also what came as its text; nothing of any other text."""
    if isinstance(metadata, str):
        try:
            metadata = json.loads(metadata)
        except (ValueError, RecursionError):
            return {}
    return metadata if isinstance(metadata, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One button: its label, the payment's status, and the page that follows.

    - `returns`: the payer is sent back to the merchant, if there is an address.
    - `unpaid`: the payer may try again.
    - `twist`: what else becomes of the payment's data.
    - `times`: how often it is paid, each time but the first under a new reference.
    - `needs_price`: makes no sense where the payer chooses the amount.
    """

    label: str
    status: str = "success"
    title: str = gettext("Payment received")
    text: str = gettext("This is your receipt.")
    returns: bool = True
    unpaid: bool = False
    twist: Callable[[Payload], Payload] = _same
    times: int = 1
    needs_price: bool = False


CHOICES: Mapping[str, Choice] = {
    "pay": Choice(label=gettext("Pay")),
    "decline": Choice(
        label=gettext("Decline"),
        status="failed",
        title=gettext("Payment failed"),
        text=gettext("Your bank refused the card. Nothing was charged."),
        returns=False,
        unpaid=True,
    ),
    "abandon": Choice(
        label=gettext("Abandon"),
        status="abandoned",
        title=gettext("Payment not completed"),
        text=gettext("Nothing was charged."),
        returns=False,
        unpaid=True,
    ),
    "close": Choice(
        label=gettext("Pay and close the tab"),
        text=gettext("You may close this tab."),
        returns=False,
    ),
    "late": Choice(
        label=gettext("Pay late"),
        title=gettext("Payment on its way"),
        text=gettext("Your bank will confirm it in a moment."),
    ),
    "less": Choice(label=gettext("Pay less"), twist=_less, needs_price=True),
    "currency": Choice(label=gettext("Pay in another currency"), twist=_other_currency),
    "twice": Choice(label=gettext("Pay twice"), times=2),
    "fail": Choice(label=gettext("Make the delivery fail once"), twist=_fail_once),
}
"""The buttons in their order, by the value that a form sends; the first one is the usual one."""
