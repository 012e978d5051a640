"""Say what the n-th payment of a run is; the same for every process, with nothing shared."""

import random
from dataclasses import dataclass
from typing import Any

__all__ = ["AGES", "PRICE", "Fate", "Payment", "payment"]

PRICE = 10_000
"""The page's price in minor units (100.00 ILS)."""
HOUR = 3600
AGES = (0, 10 * HOUR, 80 * HOUR)
"""Seconds since the payer of a reference that is told of by a notice was first seen; 0: never."""
OFTEN = (1, 1, 2)
"""How many are of each age: half are so old that they were given up."""
UNCONFIRMED = ("pending", "failed", "abandoned", "404")
"""What verify answers before it knows of a success; 404: it does not know the reference."""


class Fate:
    """What must become of a payment."""

    MUST = "must be delivered"
    NEVER = "must not be delivered"
    MAY = "either"


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment: what it is at the service, and what must become of it here.

    `fields` replace those of an honest success; `later`, if any, do so after a while.
    `by_notice`: no payer comes, one signed notice names it, before or after `later`. `age` is for
    how many seconds the site has known it by then, `is_hidden` says that verify does not know it
    until `later`.
    """

    reference: str
    fate: str
    fields: dict[str, Any]
    later: dict[str, Any]
    by_notice: bool = False
    age: float = 0
    is_hidden: bool = False


def payment(seed: int, number: int, token: str) -> Payment:
    """Make the n-th payment: nine in ten are, or become, honest successes; the rest are lies.

    One in ten is told of by a notice that verify may be behind.
    """
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
    by_notice = 0.20 <= chance < 0.30
    seen, (age,) = draw.choice(UNCONFIRMED), draw.choices(AGES, weights=OFTEN)
    if by_notice:
        fields, later = {"status": "pending" if seen == "404" else seen}, {"status": "success"}
    if by_notice or draw.random() < 0.5:
        # Known without the payer: then the webhook or the sweep alone may get to the end.
        fields = {**fields, "metadata": {"payments_pages_token": token}}
    return Payment(
        f"TORTURE-{number}",
        fate,
        fields,
        later,
        by_notice=by_notice,
        age=age if by_notice else 0,
        is_hidden=by_notice and seen == "404",
    )
