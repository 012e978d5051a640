"""Describe the site."""

from collections.abc import Sequence
from typing import Any

APPS = ["payments", "tests.benchmarks.peers.payments_site"]
KEY = "sk_test_bench"


def settings(service: str) -> dict[str, Any]:
    """Use the documented settings, and the provider."""
    provider = "tests.benchmarks.peers.payments_site.provider.PagesProvider"
    return {
        "PAYMENT_HOST": "127.0.0.1",
        "PAYMENT_USES_SSL": False,
        "PAYMENT_MODEL": "payments_site.Payment",
        "PAYMENT_VARIANTS": {"pages": (provider, {"service": service, "key": KEY})},
    }


def seed(references: Sequence[str]) -> None:
    """Make the payments that have been started; its token is their reference."""
    from tests.benchmarks.peers.payments_site.models import Payment

    Payment.objects.bulk_create(
        Payment(variant="pages", token=reference, total="100.00", currency="ILS")
        for reference in references
    )


def callback() -> str:
    """Return the address of the package's view, with what the service adds to it."""
    return "/payments/process/{0}/?reference={0}"


def result(_location: str) -> str:
    """It sends payers to the merchant's own page."""
    return ""
