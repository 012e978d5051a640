"""Give the value, as the documentation says: in a receiver of the event."""

from typing import Any

from django.apps import AppConfig


def deliver(sender: Any, event: Any, **_named: Any) -> None:
    """Write one row, as every other site here does."""
    from tests.benchmarks.callbacks.site.models import Good

    Good.objects.create(reference=event.data["object"]["metadata"]["reference"])


class StripeSiteConfig(AppConfig):
    """Connect the receiver."""

    name = "tests.benchmarks.peers.stripe_site"

    def ready(self) -> None:
        """Connect."""
        from djstripe.event_handlers import djstripe_receiver

        djstripe_receiver("payment_intent.succeeded")(deliver)
