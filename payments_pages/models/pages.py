"""Payment pages, as the service has them."""

import uuid
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from payments_pages.models.ownership import is_sold_here, sold_here
from payments_pages.models.querysets import PrimaryQuerySet

__all__ = ["PaymentPage"]


class PaymentPageQuerySet(PrimaryQuerySet["PaymentPage"]):
    """Pages, read from the primary database."""

    def confirmed(self) -> "PaymentPageQuerySet":
        """Return the pages that the service is known to have."""
        return self.filter(remote_id__isnull=False)

    def gone(self) -> "PaymentPageQuerySet":
        """Return the pages that nobody can pay on: missing at the service, or never confirmed."""
        return self.filter(models.Q(remote_id__isnull=True) | models.Q(missing_since__isnull=False))

    def on_sale(self) -> "PaymentPageQuerySet":
        """Return active pages that have a price and that the service is known to have."""
        return self.confirmed().filter(active=True, amount__isnull=False)

    def sold_here(self) -> "PaymentPageQuerySet":
        """Return the pages that this site sells (see `PaymentPage.sold_here`)."""
        return self.filter(sold_here())

    def sold_elsewhere(self) -> "PaymentPageQuerySet":
        """Return the pages of other sites on the same account."""
        return self.exclude(sold_here())

    def like(self, page: "PaymentPage") -> "PaymentPageQuerySet":
        """Return the other pages on sale at a page's price; none if it is not on sale itself.

        Such pages cannot be told apart by money: a payer could claim one for the other.
        """
        if not page.active or page.amount is None:
            return self.none()
        twins = self.on_sale().filter(currency=page.currency, amount=page.amount)
        return twins.filter(domain=page.domain).exclude(pk=page.pk)


class PaymentPage(models.Model):
    """One hosted page; its fields have the service's names.

    A page is identified by its number at the service (`remote_id`) and its mode (`domain`): slugs
    and names may move to another page. The row is written *before* the service is asked to create
    the page, with `remote_id` null: if the response is lost, the slug tells what to look for (case
    C53), and the `token`, which is in the page's `redirect_url`, is known.

    - `creating_until`: when the lease ends of the caller that is creating it at the service; null if
      nobody is.
    - `slug_key`: hash of mode and slug; null if the service has given the slug to another page.
    - `drift`: by field, what staff had last set if a sync found another value at the service. The
      fields themselves have the service's values.
    - `inactive_since`: when it was switched off; null while it is active, or if nobody saw it.
    - `seller`: who sells it, as staff said: the site's name (`ownership.this_site`),
      `ownership.ELSEWHERE`, or blank: the redirect URL decides.
    - `made_here`: this site, or the site whose database was copied to this one, created it.
    """

    remote_id = models.BigIntegerField(
        _("number at the service"), null=True, blank=True, editable=False
    )
    token = models.UUIDField(_("callback token"), default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=255)
    description = models.TextField(_("description"), blank=True)
    slug = models.CharField(_("slug"), max_length=255, blank=True)
    slug_key = models.CharField(  # noqa: DJ001 - unique, so that many may have none
        max_length=64, unique=True, null=True, editable=False
    )
    amount = models.BigIntegerField(
        _("amount"),
        null=True,
        blank=True,
        help_text=_("In minor units; empty: the payer chooses."),
    )
    currency = models.CharField(_("currency"), max_length=16, blank=True, editable=False)
    active = models.BooleanField(_("active"), default=True)
    domain = models.CharField(_("mode"), max_length=16, blank=True, editable=False)
    redirect_url = models.TextField(_("redirect address"), blank=True, editable=False)
    custom_fields = models.JSONField(_("custom fields"), default=list, blank=True)
    metadata = models.JSONField(_("metadata"), default=dict, blank=True, null=True)
    created_at = models.DateTimeField(_("created at"), null=True, editable=False)
    updated_at = models.DateTimeField(_("updated at"), null=True, editable=False)
    synced_at = models.DateTimeField(_("last synced"), null=True, editable=False)
    missing_since = models.DateTimeField(_("missing since"), null=True, editable=False)
    inactive_since = models.DateTimeField(_("inactive since"), null=True, editable=False)
    seller = models.CharField(
        _("sold by, as staff said"), max_length=255, blank=True, editable=False
    )
    creating_until = models.DateTimeField(null=True, editable=False)
    made_here = models.BooleanField(default=False, editable=False)
    drift = models.JSONField(_("changed at the service"), default=dict, editable=False)

    # No column. What the service did not do as asked just now: (field, asked for, as it is).
    differences: tuple[tuple[str, Any, Any], ...] = ()

    objects = PaymentPageQuerySet.as_manager()

    class Meta:
        verbose_name = _("payment page")
        verbose_name_plural = _("payment pages")
        permissions = [
            ("sync_paymentpage", _("Can sync pages with the service")),
            ("remove_paymentpage", _("Can remove pages that the service does not have")),
        ]
        indexes = [
            models.Index(fields=["slug"], name="pp_page_slug"),
            models.Index(fields=["active", "currency", "amount"], name="pp_page_price"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["domain", "remote_id"], name="pp_page_number"),
            models.CheckConstraint(
                condition=models.Q(amount__isnull=True) | models.Q(amount__gt=0),
                name="pp_page_amount_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def sold_here(self) -> bool:
        """Tell whether this site sells it, not another site on the same account."""
        return is_sold_here(self.redirect_url, self.seller, made_here=self.made_here)
