"""Give the value."""

from typing import Any

from tests.benchmarks.callbacks.site.models import Good


def deliver(fulfilment: Any) -> None:
    """Write one row, as every other site here does."""
    Good.objects.create(reference=fulfilment.transaction.reference)
