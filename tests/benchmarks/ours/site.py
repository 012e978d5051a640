"""Describe our site."""

from collections.abc import Sequence
from typing import Any

APPS = ["payments_pages"]
KEY = "sk_test_bench"


def settings(service: str) -> dict[str, Any]:
    """Give what has no default, and open the webhook."""
    return {
        "PAYMENTS_PAGES": {
            "SECRET_KEY": KEY,
            "BASE_URL": service,
            "PAY_URL": service.replace("/api", "/pay"),
            "SITE_URL": "http://127.0.0.1",
            "HANDLER": "tests.benchmarks.ours.handlers.deliver",
            "WEBHOOK_HEADER": "x-signature",
            "WEBHOOK_ALGORITHM": "sha256",
        }
    }


def seed(_references: Sequence[str]) -> None:
    """Mirror the one page that is paid for."""
    from payments_pages.models import PaymentPage
    from payments_pages.pages.changes import slug_key

    PaymentPage.objects.get_or_create(
        slug="tea-box",
        defaults={
            "slug_key": slug_key("tea-box"),
            "remote_id": 1,
            "name": "Tea box",
            "amount": 10000,
            "currency": "ILS",
            "domain": "test",
        },
    )


def expect(references: Sequence[str]) -> None:
    """Expect each payment, as a shop does that opens a popup for its order."""
    from payments_pages.models import ExpectedPayment, PaymentPage
    from payments_pages.references import reference_key

    page = PaymentPage.objects.get(slug="tea-box")
    for reference in references:
        ExpectedPayment.objects.create(
            reference=reference,
            reference_key=reference_key(reference),
            page=page,
            amount=page.amount,
            currency=page.currency,
        )


def callback() -> str:
    """Return the address of a payer who comes back by the page's own callback."""
    from payments_pages.models import PaymentPage

    token = PaymentPage.objects.values_list("token", flat=True).get(slug="tea-box")
    return f"/payments/callback/{token}/?reference={{0}}"


def result(location: str) -> str:
    """Return the address that the payer was sent to."""
    return location
