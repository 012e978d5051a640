"""Nudges for the suite: each sends, or does not, in its own way."""

from django.db import connection

from payments_pages.models import Fulfilment

SENT: list[str] = []
SEEN: list[tuple[bool, int]] = []
"""Of each nudge: was a transaction open, and how many fulfilments could be seen."""


def keep(reference: str) -> None:
    SENT.append(reference)
    SEEN.append((connection.in_atomic_block, Fulfilment.objects.count()))


def fail(reference: str) -> None:
    raise ConnectionError("amqp://guest:hunter2@broker refused the connection")


not_callable = "a nudge"
