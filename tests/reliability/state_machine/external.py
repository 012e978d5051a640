"""The machine of the path for a handler that calls the outside world."""

from payments_pages.choices import FulfilmentState
from payments_pages.models import Fulfilment
from tests.reliability.state_machine.machine import Path
from tests.support.goods.models import Good

__all__ = ["PathToTheOutside"]


class PathToTheOutside(Path):
    """The same path with a handler whose work no rollback undoes: at least once, under one key."""

    atomic = False

    def is_given_as_promised(self, row: Fulfilment | None, goods: list[Good]) -> None:
        """At least once when delivered; whenever it ran, with one key, once for each attempt."""
        if row is None:
            assert not goods
            return
        assert goods or row.state != FulfilmentState.DELIVERED, row
        assert {good.key for good in goods} <= {row.idempotency_key}, goods
        assert len({good.attempt for good in goods}) == len(goods), goods
        assert all(0 < good.attempt <= row.attempts for good in goods), goods
