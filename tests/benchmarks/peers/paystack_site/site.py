"""Describe the site."""

from collections.abc import Sequence
from typing import Any

APPS = ["djpaystack", "tests.benchmarks.peers.paystack_site"]
KEY = "sk_test_bench"


def settings(service: str) -> dict[str, Any]:
    """Use the documented settings; the service's address is one of them."""
    return {
        "PAYSTACK": {
            "SECRET_KEY": KEY,
            "PUBLIC_KEY": "pk_test_bench",
            "ENVIRONMENT": "test",
            "BASE_URL": service,
        }
    }


def seed(references: Sequence[str]) -> None:
    """Make the transactions that have been started."""
    from djpaystack.models import PaystackTransaction

    PaystackTransaction.objects.bulk_create(
        PaystackTransaction(
            reference=reference,
            amount=10000,
            currency="ILS",
            status="pending",
            customer_email="payer@example.test",
        )
        for reference in references
    )


def callback() -> str:
    """Return the address of the view."""
    return "/callback/?reference={0}"


def result(_location: str) -> str:
    """It sends payers to the merchant's own page."""
    return ""
