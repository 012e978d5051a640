"""Hold the delivery of a transaction's value."""

import uuid
from typing import Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from payments_pages.choices import FulfilmentState, Reason
from payments_pages.models.deferred import ReadAtOnce
from payments_pages.models.querysets import DueQuerySet
from payments_pages.models.transactions import Transaction

__all__ = ["Fulfilment", "FulfilmentQuerySet"]


class FulfilmentQuerySet(DueQuerySet["Fulfilment"]):
    """Find deliveries that must be made."""

    open_states = (FulfilmentState.PENDING, FulfilmentState.FAILED, FulfilmentState.DELIVERING)

    def overrun(self) -> Self:
        """Return what is being delivered for longer than its lease, the oldest first.

        A process has died, and the next sweep takes it; or a handler hangs.
        """
        return self.due().filter(state=FulfilmentState.DELIVERING)


class Fulfilment(ReadAtOnce):
    """Give the value of one transaction, once.

    The two unique columns are the promise: one row per reference, one row per transaction.
    `attempts` is the fence; `next_at` is the next try or, while `delivering`, the lease's end.
    `idempotency_key` is the same for every attempt, for handlers that call the outside world.
    """

    transaction = models.OneToOneField(
        Transaction,
        verbose_name=_("transaction"),
        on_delete=models.PROTECT,
        related_name="fulfilment",
    )
    reference_key = models.CharField(max_length=64, editable=False)
    idempotency_key = models.UUIDField(
        _("idempotency key"), default=uuid.uuid4, unique=True, editable=False
    )
    state = models.CharField(_("state"), max_length=16, choices=FulfilmentState)
    reason = models.CharField(
        _("reason"), max_length=32, choices=Reason, default=Reason.NONE, blank=True
    )
    overpaid = models.BooleanField(_("overpaid"), default=False)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    next_at = models.DateTimeField(_("next try"), null=True)
    last_error = models.TextField(_("last error"), blank=True)
    decided_by = models.CharField(_("decided by"), max_length=150, blank=True)
    note = models.TextField(_("note"), blank=True)
    delivered_at = models.DateTimeField(_("delivered at"), null=True)
    created_at = models.DateTimeField(_("opened at"), default=timezone.now)

    objects = FulfilmentQuerySet.as_manager()

    class Meta:
        verbose_name = _("fulfilment")
        verbose_name_plural = _("fulfilments")
        # Not `unique=True`: on PostgreSQL that adds a second index, for LIKE, which nobody asks.
        constraints = [models.UniqueConstraint(fields=["reference_key"], name="pp_fulfilment_key")]
        indexes = [
            models.Index(fields=["state", "next_at"], name="pp_fulfilment_due"),
            models.Index(fields=["state", "transaction"], name="pp_fulfilment_state"),
        ]
        permissions = [
            ("retry_fulfilment", _("Can try a delivery again")),
            ("approve_fulfilment", _("Can approve what is held")),
            ("reject_fulfilment", _("Can reject what is held")),
        ]

    def __str__(self) -> str:
        return f"{self.get_state_display()} ({self.reference_key[:8]})"
