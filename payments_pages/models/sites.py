"""The site that the tables belong to."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from payments_pages.models.querysets import PrimaryQuerySet

__all__ = ["SiteBinding"]


class SiteBindingQuerySet(PrimaryQuerySet["SiteBinding"]):
    """The one row, read from the primary database."""


class SiteBinding(models.Model):
    """The site that these tables belong to: one row, which the first sweep inserts.

    A copy of the database has the row, too. So the copy's site sees that it is another one, and
    delivers nothing.

    - `site`: the host of `SITE_URL`, as `ownership.this_site` returns it; it is compared.
    - `url`: `SITE_URL` as it was, for people.
    """

    ONLY = 1
    """The key of the one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY, editable=False)
    site = models.CharField(_("site"), max_length=255)
    url = models.CharField(_("address"), max_length=255)
    bound_at = models.DateTimeField(_("bound at"), default=timezone.now)

    objects = SiteBindingQuerySet.as_manager()

    class Meta:
        verbose_name = _("binding to a site")
        verbose_name_plural = _("bindings to a site")
        default_permissions = ()
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="pp_site_binding_only_one")
        ]

    def __str__(self) -> str:
        return self.url
