"""Querysets on the primary database: what protects money must not be read from a replica."""

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from django.db import models, router
from django.db.models import Model, Q

from payments_pages.db import UtcNow

__all__ = ["DueQuerySet", "LoadsDeferredTogether", "PrimaryQuerySet", "primary_alias"]

Row_co = TypeVar("Row_co", bound=Model, covariant=True)


def primary_alias(model: type[Model]) -> str:
    """Return the alias of the database that `model` is written to."""
    return router.db_for_write(model)


class PrimaryQuerySet(models.QuerySet[Row_co]):
    """A queryset that can read from where we write: a replica may not have the row yet."""

    def primary(self) -> Self:
        """Return this queryset on the primary database."""
        return self.using(primary_alias(self.model))


class DueQuerySet(PrimaryQuerySet[Row_co]):
    """Rows with a due time, which is compared with the database's clock.

    `next_at` is the due time: the next try or, while a caller works on the row, the end of its
    lease. One index serves both.
    """

    open_states: tuple[str, ...] = ()

    def due(self) -> Self:
        """Return the rows that the sweep must take, the oldest first."""
        return self.filter(Q(state__in=self.open_states), next_at__lte=UtcNow()).order_by(
            "next_at", "pk"
        )


class LoadsDeferredTogether(models.Model):
    """A model that loads all deferred fields with the first, from the database of the object.

    Django would load each alone, perhaps from a replica that does not have the row yet.
    """

    class Meta:
        abstract = True

    def refresh_from_db(
        self,
        using: str | None = None,
        fields: Iterable[str] | None = None,
        from_queryset: "models.QuerySet[Any] | None" = None,
    ) -> None:
        """Read `fields` again, and with them all deferred ones; None: all fields."""
        if fields is not None:
            deferred = self.get_deferred_fields()
            fields = {*fields, *deferred} if deferred & {*fields} else fields
        super().refresh_from_db(using or self._state.db, fields, from_queryset)
