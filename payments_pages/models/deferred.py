"""Read what was left out of an object all at once."""

from collections.abc import Iterable
from typing import Any

from django.db import models

__all__ = ["ReadAtOnce"]


class ReadAtOnce(models.Model):
    """Load every deferred field when the first of them is asked for, from where the object is from.

    Django would ask for each by itself, and might ask a replica that does not have the row yet.
    """

    class Meta:
        abstract = True

    def refresh_from_db(
        self,
        using: str | None = None,
        fields: Iterable[str] | None = None,
        from_queryset: "models.QuerySet[Any] | None" = None,
    ) -> None:
        """Read `fields` again, and with them all that was never read; None: all there are."""
        if fields is not None:
            deferred = self.get_deferred_fields()
            fields = {*fields, *deferred} if deferred & {*fields} else fields
        super().refresh_from_db(using or self._state.db, fields, from_queryset)
