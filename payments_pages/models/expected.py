"""Payments that the merchant expects: reference, amount and currency, known beforehand."""

import secrets
import string
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, models, transaction
from django.utils.translation import gettext_lazy as _

from payments_pages.choices import Door, VerificationState
from payments_pages.conf import conf
from payments_pages.db import UtcNow, from_now
from payments_pages.models.pages import PaymentPage
from payments_pages.models.querysets import primary_alias
from payments_pages.models.verifications import Verification
from payments_pages.money import MAX_AMOUNT, fold_currency
from payments_pages.references import reference_key

__all__ = ["ExpectedPayment"]

ALPHABET = string.ascii_letters + string.digits
LENGTH = 24
TRIES = 3
CODE_LENGTH = 3
FIRST_ASK = 120
"""Seconds until the sweep first asks: a payer needs about that long."""


class ExpectedPaymentManager(models.Manager["ExpectedPayment"]):
    """Expected payments: `expect()` makes them.

    Written as a manager, and not made of a queryset by `as_manager()`: a type checker without the
    plugin of django-stubs knows only the methods that a class has (docs/cases.md F10).
    """

    def primary(self) -> "models.QuerySet[ExpectedPayment]":
        """Return the rows on the primary database: a replica may not have them yet."""
        return self.using(primary_alias(self.model))

    def expect(
        self,
        *,
        amount: int,
        currency: str,
        page: PaymentPage | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> "ExpectedPayment":
        """Expect one payment under a new reference: for a popup, an SDK or a redirect.

        `amount` is minor units. The reference is unguessable and in the service's alphabet
        (letters and digits). It is asked about by the sweep too, from two minutes on: a payer
        who pays and never comes back is not forgotten. May be called inside a transaction, such
        as the one that makes the order. Raise `ValueError` for an amount or currency that no
        payment could match.
        """
        if type(amount) is not int or not 0 < amount <= MAX_AMOUNT:
            raise ValueError("An expected amount is a positive int of minor units, of 64 bits.")
        if not (len(currency) == CODE_LENGTH and currency.isascii() and currency.isalpha()):
            raise ValueError("A currency is a code of three letters, such as ILS.")
        using = primary_alias(self.model)
        for _attempt in range(TRIES):
            reference = "".join(secrets.choice(ALPHABET) for _place in range(LENGTH))
            key = reference_key(reference)
            expected = self.model(
                reference=reference,
                reference_key=key,
                amount=amount,
                currency=fold_currency(currency),
                page=page,
                context=dict(context or {}),
            )
            try:
                with transaction.atomic(using=using):
                    expected.save(using=using, force_insert=True)
                    Verification.objects.using(using).create(
                        reference=reference,
                        reference_key=key,
                        mode=conf.mode,
                        state=VerificationState.DUE,
                        next_at=from_now(FIRST_ASK),
                        named_at=UtcNow(),
                        first_door=Door.EXPECTED,
                        vouched=True,
                    )
            except IntegrityError:
                if not self.using(using).filter(reference_key=key).exists():
                    raise
            else:
                return expected
        raise RuntimeError("No free reference was found.")


class ExpectedPayment(models.Model):
    """One expected payment of `amount` minor units of `currency` under `reference`.

    `paid_by_key` is the reference key of the transaction that was accepted for it: set once, by
    a conditional UPDATE, so that a second payment is held as a duplicate (docs/cases.md C61).
    """

    reference = models.CharField(_("reference"), max_length=128)
    reference_key = models.CharField(max_length=64, editable=False)
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

    objects = ExpectedPaymentManager()

    class Meta:
        verbose_name = _("expected payment")
        verbose_name_plural = _("expected payments")
        constraints = [
            models.UniqueConstraint(fields=["reference_key"], name="pp_expected_key"),
            models.CheckConstraint(
                condition=models.Q(amount__gt=0), name="pp_expected_amount_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.reference
