"""Give the value, as the documentation says: in a receiver."""

from typing import Any

from django.apps import AppConfig


def deliver(sender: Any, transaction: Any, **_named: Any) -> None:
    """Write one row, as every other site here does."""
    from tests.benchmarks.callbacks.site.models import Good

    Good.objects.create(reference=transaction.reference)


class WalletSiteConfig(AppConfig):
    """Connect the receiver."""

    name = "tests.benchmarks.peers.wallet_site"

    def ready(self) -> None:
        """Connect."""
        from wallet.signals import deposit_completed

        deposit_completed.connect(deliver)
