"""Say what the n-th payment of a run is; the same for every process, with nothing shared."""

import random
from dataclasses import dataclass
from typing import Any

__all__ = ["PRICE", "Fate", "Payment", "payment"]

PRICE = 10_000
"""The page's price in minor units (100.00 ILS)."""


class Fate:
    """What must become of a payment."""

    MUST = "must be delivered"
    NEVER = "must not be delivered"
    MAY = "either"


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment: what it is at the service, and what must become of it here.

    `fields` replace those of an honest success; `later`, if any, do so after a while.
    """

    reference: str
    fate: str
    fields: dict[str, Any]
    later: dict[str, Any]


def payment(seed: int, number: int, token: str) -> Payment:
    """Make the n-th payment: nine in ten are, or become, honest successes; the rest are lies."""
    draw = random.Random(f"{seed}-{number}")
    fields: dict[str, Any] = {}
    later: dict[str, Any] = {}
    fate = Fate.MUST
    chance = draw.random()
    if chance < 0.03:
        fate, fields = Fate.NEVER, {"amount": PRICE - 1}
    elif chance < 0.05:
        fate, fields = Fate.NEVER, {"currency": "USD"}
    elif chance < 0.07:
        fate, fields = Fate.NEVER, {"domain": "live"}
    elif chance < 0.08:
        fate, fields = Fate.NEVER, {"status": "abandoned"}
    elif chance < 0.10:
        fate, later = Fate.MAY, {"status": "reversed"}
    elif chance < 0.20:
        fields, later = {"status": "pending"}, {"status": "success"}
    if draw.random() < 0.5:
        # Known without the payer: then the webhook or the sweep alone may get to the end.
        fields = {**fields, "metadata": {"payments_pages_token": token}}
    return Payment(f"TORTURE-{number}", fate, fields, later)
