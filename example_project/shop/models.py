"""Hold what the shop sells and what it has given."""

import secrets
import uuid

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from payments_pages.models import ExpectedPayment, Fulfilment, PaymentPage

__all__ = ["Kind", "Licence", "Offer", "Order"]

# No 0/O, 1/I/L: codes are read out on the telephone.
_CODE_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


class Kind(models.TextChoices):
    """Say what a buyer gets."""

    LICENCE = "licence", _("licence")
    TICKET = "ticket", _("ticket")


def new_code() -> str:
    """Return a code nobody can guess: four groups of five, 98 bits."""
    groups = ("".join(secrets.choice(_CODE_LETTERS) for _ in range(5)) for _ in range(4))
    return "-".join(groups)


def validate_translations(value: object) -> None:
    """Raise `ValidationError` unless `value` is `{language code: text}`."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValidationError(_('Write {"ar": "…", "he": "…"}, or {} for none.'))


def _in_language(texts: dict[str, str]) -> str:
    return texts.get((get_language() or "").split("-")[0], "")


class Offer(models.Model):
    """Sell one thing through one payment page. Price and switch are the page's alone.

    `names` and `descriptions` hold translations by language code; in a language they lack, the
    page's own name and description are shown. One that is sold in a popup is paid on the shop's
    own site, at the page's price; a page without a price cannot be. It goes with a page that
    staff remove; one that was ordered keeps its page.
    """

    page = models.OneToOneField(
        PaymentPage, verbose_name=_("payment page"), on_delete=models.CASCADE, related_name="offer"
    )
    kind = models.CharField(_("kind"), max_length=16, choices=Kind, default=Kind.LICENCE)
    names = models.JSONField(
        _("names by language"), default=dict, blank=True, validators=[validate_translations]
    )
    descriptions = models.JSONField(
        _("descriptions by language"), default=dict, blank=True, validators=[validate_translations]
    )

    popup = models.BooleanField(_("sold in a popup"), default=False)

    class Meta:
        verbose_name = _("offer")
        verbose_name_plural = _("offers")
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="shop_offer_kind")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Return the name in the active language, or the page's own."""
        return _in_language(self.names) or self.page.name

    @property
    def description(self) -> str:
        """Return the description in the active language, or the page's own."""
        return _in_language(self.descriptions) or self.page.description


class Order(models.Model):
    """Be what somebody wants to buy in a popup: one offer, at the price expected of it.

    Whether it is paid is not kept here: it has a licence then, and none before. `token` is its
    address, which nobody can guess.
    """

    token = models.UUIDField(_("token"), unique=True, default=uuid.uuid4, editable=False)
    offer = models.ForeignKey(
        Offer, verbose_name=_("offer"), on_delete=models.PROTECT, related_name="orders"
    )
    expected = models.OneToOneField(
        ExpectedPayment,
        verbose_name=_("expected payment"),
        on_delete=models.PROTECT,
        related_name="order",
    )
    created_at = models.DateTimeField(_("ordered at"), auto_now_add=True)

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["-created_at"], name="shop_order_created")]

    def __str__(self) -> str:
        return self.expected.reference


class Licence(models.Model):
    """Be what one buyer got for one payment.

    The one-to-one links are the shop's own lock, beside the library's promise: a second licence
    for the same fulfilment or order cannot be stored, whoever tries.
    """

    offer = models.ForeignKey(
        Offer, verbose_name=_("offer"), on_delete=models.PROTECT, related_name="licences"
    )
    fulfilment = models.OneToOneField(
        Fulfilment,
        verbose_name=_("fulfilment"),
        on_delete=models.PROTECT,
        related_name="licence",
    )
    order = models.OneToOneField(
        Order,
        verbose_name=_("order"),
        on_delete=models.PROTECT,
        related_name="licence",
        null=True,
        blank=True,
    )
    code = models.CharField(_("code"), max_length=32, unique=True, default=new_code)
    email = models.CharField(_("e-mail"), max_length=320, blank=True)
    created_at = models.DateTimeField(_("given at"), auto_now_add=True)

    class Meta:
        verbose_name = _("licence")
        verbose_name_plural = _("licences")
        ordering = ["-created_at", "-pk"]
        constraints = [models.CheckConstraint(condition=~Q(code=""), name="shop_licence_code")]
        indexes = [
            models.Index(fields=["-created_at"], name="shop_licence_created"),
            models.Index(fields=["email"], name="shop_licence_email"),
        ]

    def __str__(self) -> str:
        return self.code
