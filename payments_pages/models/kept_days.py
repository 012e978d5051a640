"""What the days that are over came to, kept so that nobody need sum them up at each view."""

from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy as _

from payments_pages.models.querysets import PrimaryQuerySet

__all__ = ["KeptDay", "KeptDayQuerySet", "LateChange"]


class LateChangeQuerySet(PrimaryQuerySet["LateChange"]):
    """Late changes, read from the primary database."""


class LateChange(models.Model):
    """A note that a payment made at `paid_at` was written, or changed, long after that.

    Inserted in the transaction that writes the payment: both are committed or neither is. Rows are
    only inserted, so those who record payments never wait for one another; `staff.keep_days`
    deletes those that it has seen.
    """

    domain = models.CharField(max_length=16, blank=True, editable=False)
    paid_at = models.DateTimeField(editable=False)

    objects = LateChangeQuerySet.as_manager()

    class Meta:
        verbose_name = _("late change")
        verbose_name_plural = _("late changes")
        default_permissions = ()
        indexes = [models.Index(fields=["domain", "paid_at"], name="pp_late_change_day")]

    def __str__(self) -> str:
        return f"{self.domain} {self.paid_at:%Y-%m-%d %H:%M:%S}"


class KeptDayQuerySet(PrimaryQuerySet["KeptDay"]):
    """Kept days, and those of them whose sums are right."""

    def standing(self) -> Self:
        """Return the days whose sums are right: summed up once, and not changed since.

        Read it in one statement: a note that is deleted between two has changed the sums, too.
        """
        changed = LateChange.objects.filter(
            domain=OuterRef("domain"),
            paid_at__gte=OuterRef("since"),
            paid_at__lt=OuterRef("until"),
        )
        return self.filter(~Exists(changed), version__gt=0)


class KeptDay(models.Model):
    """What the payments of one mode with `since` <= `paid_at` < `until` come to.

    The bounds are midnights where `TIME_ZONE` was when the row was made. If it is another one now,
    its days have other bounds, and nobody reads this row.

    - `sums`: by the currency as it is written, the number of payments (`count`), their `amount` in
      minor units, as text since a sum may have more digits than a database's JSON keeps, and how
      many of them have no readable amount (`unreadable`). `{}` if nothing was paid.
    - `version` is the fence: it only rises, and sums are written only over the version that was
      there before they were read. 0: there are no sums yet.
    """

    domain = models.CharField(max_length=16, editable=False)
    since = models.DateTimeField(editable=False)
    until = models.DateTimeField(editable=False)
    sums = models.JSONField(default=dict, editable=False)
    version = models.PositiveIntegerField(default=0, editable=False)

    objects = KeptDayQuerySet.as_manager()

    class Meta:
        verbose_name = _("kept day")
        verbose_name_plural = _("kept days")
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["domain", "since", "until"], name="pp_kept_day_bounds")
        ]

    def __str__(self) -> str:
        return f"{self.domain} {self.since:%Y-%m-%d %H:%M:%S}"
