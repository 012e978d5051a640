"""Send what guards money to the primary database."""

from typing import Self, TypeVar

from django.db import models, router
from django.db.models import Model, Q

from payments_pages.db.transient import UtcNow

__all__ = ["DueQuerySet", "PrimaryQuerySet", "primary_alias"]

Row_co = TypeVar("Row_co", bound=Model, covariant=True)


def primary_alias(model: type[Model]) -> str:
    """Return the alias of the database that `model` is written to."""
    return router.db_for_write(model)


class PrimaryQuerySet(models.QuerySet[Row_co]):
    """Read from where we write: a replica may not have the row yet."""

    def primary(self) -> Self:
        """Return this queryset on the primary database."""
        return self.using(primary_alias(self.model))


class DueQuerySet(PrimaryQuerySet[Row_co]):
    """Find rows whose time has come, by the database's clock.

    `next_at` is the one time a row waits for: the next try or, while somebody works on it, the
    end of that lease. One index serves both.
    """

    open_states: tuple[str, ...] = ()

    def due(self) -> Self:
        """Return what the sweep must take, the oldest first."""
        return self.filter(Q(state__in=self.open_states), next_at__lte=UtcNow()).order_by(
            "next_at", "pk"
        )
