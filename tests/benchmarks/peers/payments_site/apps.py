"""Give the value, as the documentation says: in a receiver."""

from typing import Any

from django.apps import AppConfig


def deliver(sender: Any, instance: Any, **_named: Any) -> None:
    """Write one row when a payment has become a confirmed one."""
    from payments import PaymentStatus

    from tests.benchmarks.callbacks.site.models import Good

    if instance.status == PaymentStatus.CONFIRMED:
        Good.objects.create(reference=instance.token)


class PaymentsSiteConfig(AppConfig):
    """Connect the receiver."""

    name = "tests.benchmarks.peers.payments_site"

    def ready(self) -> None:
        """Connect."""
        from payments.signals import status_changed

        status_changed.connect(deliver)
