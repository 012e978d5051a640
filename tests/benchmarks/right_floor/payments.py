"""Confirm a payment once, in three statements and two commits, the shop's row among them."""

import json
import time
import uuid
from typing import Final

import requests
from django.conf import settings
from django.db import connection, transaction

from tests.benchmarks.callbacks.site.models import Good

__all__ = ["confirm"]

session = requests.Session()

NOW: Final = {
    "postgresql": "extract(epoch FROM clock_timestamp())",
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
}
"""The database's clock, in seconds of Unix time: one clock for all processes of the site."""

CLAIM: Final = """
    INSERT INTO right_floor_payment (reference, claim, claimed_until)
    VALUES (%s, %s, {now} + %s)
    ON CONFLICT (reference) DO UPDATE
        SET claim = excluded.claim, claimed_until = excluded.claimed_until
        WHERE NOT right_floor_payment.delivered AND right_floor_payment.claimed_until < {now}
    RETURNING 1
"""
RECORD: Final = """
    UPDATE right_floor_payment
    SET status = %s, amount = %s, currency = %s, answer = %s, delivered = %s, claimed_until = 0
    WHERE reference = %s AND claim = %s AND NOT delivered
"""
LOOK: Final = (
    "SELECT delivered, claimed_until < {now} FROM right_floor_payment WHERE reference = %s"
)

PATIENCE: Final = 2.0
"""Seconds for which a caller waits for the one who asks."""


def confirm(reference: str) -> bool:
    """Return whether a reference is delivered, by this call or by an earlier one."""
    claim = uuid.uuid4()
    with connection.cursor() as cursor:
        claimed = [reference, _stored(claim), settings.FLOOR_LEASE]
        cursor.execute(CLAIM.format(now=NOW[connection.vendor]), claimed)
        if cursor.fetchone() is None:
            return _look(reference)
    address = f"{settings.FLOOR_SERVICE}/transaction/verify/{reference}"
    headers = {"Authorization": f"Bearer {settings.FLOOR_KEY}"}
    response = session.get(address, headers=headers, timeout=8)
    response.raise_for_status()
    data = response.json()["data"]
    price = (data["amount"], data["currency"])
    is_paid = (
        data["status"] == "success"
        and data["reference"] == reference
        and data["domain"] == "test"
        and price == settings.FLOOR_PRICE
    )
    told = [data["status"], *price, json.dumps(data), is_paid]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(RECORD, [*told, reference, _stored(claim)])
        is_ours = bool(cursor.rowcount)
        if is_ours and is_paid:
            Good.objects.create(reference=reference)
    return is_paid if is_ours else _look(reference)


def _look(reference: str) -> bool:
    """Wait for who asks at this moment, and return whether it is delivered."""
    give_up, pause = time.monotonic() + PATIENCE, 0.02
    while True:
        with connection.cursor() as cursor:
            cursor.execute(LOOK.format(now=NOW[connection.vendor]), [reference])
            delivered, is_over = cursor.fetchone()
        if delivered or is_over or time.monotonic() > give_up:
            return bool(delivered)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def _stored(claim: uuid.UUID) -> object:
    return claim if connection.vendor == "postgresql" else claim.hex
