"""Hold what a merchant said beforehand a reference must pay."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from payments_pages.models.pages import PaymentPage
from payments_pages.models.querysets import PrimaryQuerySet

__all__ = ["ExpectedPayment"]


class ExpectedPaymentQuerySet(PrimaryQuerySet["ExpectedPayment"]):
    """Read expected payments from the primary database."""


class ExpectedPayment(models.Model):
    """Expect one payment of `amount` minor units of `currency` under `reference`.

    `paid_by_key` is the reference key of the transaction that was accepted for it: set once, by
    a conditional UPDATE, so that a second payment is held as a duplicate (case C61).
    """

    reference = models.CharField(_("reference"), max_length=128)
    reference_key = models.CharField(max_length=64, unique=True, editable=False)
    amount = models.BigIntegerField(_("amount"))
    currency = models.CharField(_("currency"), max_length=16)
    page = models.ForeignKey(
        PaymentPage,
        verbose_name=_("payment page"),
        on_delete=models.PROTECT,
        related_name="expected_payments",
        null=True,
        blank=True,
    )
    context = models.JSONField(_("context"), default=dict, blank=True)
    paid_by_key = models.CharField(max_length=64, blank=True, editable=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = ExpectedPaymentQuerySet.as_manager()

    class Meta:
        verbose_name = _("expected payment")
        verbose_name_plural = _("expected payments")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(amount__gt=0), name="pp_expected_amount_positive"
            )
        ]

    def __str__(self) -> str:
        return self.reference
