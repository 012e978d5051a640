"""What staff have been told by digests, and which run is telling them now."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from payments_pages.models.querysets import PrimaryQuerySet

__all__ = ["Digest"]


class DigestQuerySet(PrimaryQuerySet["Digest"]):
    """The one row, read from the primary database."""


class Digest(models.Model):
    """What the last digest told: one row, which the first run inserts.

    - `told`: by the name of a count of `staff.Attention`, the keys of what it counted when the last
      run ended. A key is the start of a `reference_key`: nothing here says who paid.
    - `attempts` is the fence: it only rises, and only the latest run may write what it told.
    - `claimed_until`: when the lease of the run ends that is telling; null if none is.
    """

    ONLY = 1
    """The key of the one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY, editable=False)
    told = models.JSONField(_("told"), default=dict)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    claimed_until = models.DateTimeField(null=True, editable=False)
    told_at = models.DateTimeField(_("last told"), null=True)

    objects = DigestQuerySet.as_manager()

    class Meta:
        verbose_name = _("digest")
        verbose_name_plural = _("digests")
        default_permissions = ()
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="pp_digest_only_one")]

    def __str__(self) -> str:
        return f"{self.told_at:%Y-%m-%d %H:%M:%S}" if self.told_at else "–"
