"""Give the value of a webhook, as the documentation says: in a receiver."""

from typing import Any

from django.apps import AppConfig


def deliver(sender: Any, transaction_data: Any, **_named: Any) -> None:
    """Write one row, as every other site here does."""
    from tests.benchmarks.callbacks.site.models import Good

    Good.objects.create(reference=transaction_data["reference"])


class PaystackSiteConfig(AppConfig):
    """Connect the receiver."""

    name = "tests.benchmarks.peers.paystack_site"

    def ready(self) -> None:
        """Connect."""
        from djpaystack.signals import paystack_payment_successful

        paystack_payment_successful.connect(deliver)
