"""Mirrored payments, as many as a test needs, without asking anybody for each."""

import datetime as dt
import itertools
from typing import Any

from django.utils import timezone

from payments_pages.models import Transaction
from payments_pages.references import reference_key

_numbers = itertools.count(1)

NOOR = {
    "first_name": "Noor",
    "last_name": "Haddad",
    "email": "noor.haddad@example.com",
    "phone": "+970 59 123 4567",
    "customer_code": "CUS_noor",
}
CARD = {"last4": "4081", "bank": "Bank of Noor", "bin": "408408", "brand": "visa"}


def payment(**fields: Any) -> Transaction:
    """Build one successful test payment of 100.00 ILS by Noor, paid now, unsaved."""
    reference = fields.pop("reference", f"T-{next(_numbers)}")
    now = timezone.now()
    return Transaction(
        **{
            "reference": reference,
            "reference_key": reference_key(reference),
            "status": "success",
            "domain": "test",
            "amount": 10000,
            "currency": "ILS",
            "fees": 150,
            "channel": "card",
            "ip_address": "203.0.113.77",
            "customer_email": NOOR["email"],
            "customer": NOOR,
            "authorization": CARD,
            "metadata": {"custom_fields": [{"display_name": "Shirt", "value": "for Noor"}]},
            "log": {"input": [{"name": "Noor Haddad"}], "history": []},
            "paid_at": now,
            "created_at": now,
            "verified_at": now,
            **fields,
        }
    )


def paid(**fields: Any) -> Transaction:
    """Save one such payment."""
    row = payment(**fields)
    row.save()
    return row


def many(count: int, **fields: Any) -> None:
    """Save that many, in bulk."""
    size = 5000
    for start in range(0, count, size):
        rows = [payment(**fields) for _ in range(min(size, count - start))]
        Transaction.objects.bulk_create(rows, batch_size=1000)


def days_ago(days: float) -> dt.datetime:
    """The moment that long ago."""
    return timezone.now() - dt.timedelta(days=days)
