"""Mirror the service's payment pages."""

import uuid
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from payments_pages.models.ownership import is_sold_here, sold_here
from payments_pages.models.querysets import PrimaryQuerySet

__all__ = ["PaymentPage"]


class PaymentPageQuerySet(PrimaryQuerySet["PaymentPage"]):
    """Find pages by the keys that may come from outside."""

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
        """Return the pages that this site sells, as `PaymentPage.sold_here` says it."""
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
    """Mirror one hosted page; names are the wire's.

    A page is its number at the service in its mode (`domain`): slugs and names change hands.
    `slug_key` is the hash of mode and slug; null where the service has since given the slug to
    another page, for a slug leads to one page at a time. The row is written *before* the page is asked for, with `remote_id` null: were the answer
    lost, its slug says what to look for (docs/cases.md C53), and its `token`, which is in the page's
    `redirect_url`, is not lost with it. `drift` holds, by field, what staff had last set where
    a sync found that the service had changed it; the fields themselves follow the service.
    `inactive_since` is when it was switched off, null while it is active or where that was never
    seen. `seller` is what staff said of who sells it: the site's name (`ownership.this_site`),
    `ownership.ELSEWHERE`, or blank where its redirect address tells. `made_here`: the service made
    it because this site, or the site whose database was copied to this one, asked for it.
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
    made_here = models.BooleanField(default=False, editable=False)
    drift = models.JSONField(_("changed at the service"), default=dict, editable=False)

    # No column: what the service did otherwise than just asked, as (field, asked for, as it is).
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
        """Say whether this site sells it, or another site on the same account."""
        return is_sold_here(self.redirect_url, self.seller, made_here=self.made_here)
