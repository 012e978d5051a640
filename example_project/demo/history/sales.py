"""Sell for a month, as on any other day: the same sales each time the story is told."""

import math
import random
import string
from collections.abc import Iterator

from example_project.demo.history.payers import PAYERS
from example_project.demo.history.payments import Payment
from payments_pages.choices import Door

__all__ = ["sales"]

DAYS = 30
_SEED = 1948
_SLUGS = ("photo-archive", "oud-evening", "friends-of-the-library", "calligraphy")
_WEIGHTS = (5, 4, 3, 2)
_GIFTS = (500, 1000, 1800, 2500, 5000, 10000)
_DOORS = (Door.CALLBACK, Door.CALLBACK, Door.WEBHOOK)
_LETTERS = string.ascii_lowercase + string.digits


def sales(number: int) -> Iterator[Payment]:
    """Yield so many payments of the last thirty days, the oldest first, busier by the week."""
    draw = random.Random(_SEED)
    for place in range(number):
        slug = draw.choices(_SLUGS, _WEIGHTS)[0]
        share = 1 - (place + 1) / (number + 1)
        wave = 0.35 * math.sin(place / 3)
        yield Payment(
            reference="".join(draw.choices(_LETTERS, k=16)),
            slug=slug,
            payer=draw.choice(PAYERS),
            days_ago=min(max(share * DAYS + wave, 0.02), DAYS - 0.5),
            door=draw.choice(_DOORS),
            fields={"amount": draw.choice(_GIFTS)} if slug == "friends-of-the-library" else {},
        )
