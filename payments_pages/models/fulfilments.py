"""The delivery of a transaction."""

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn, Self

from django.db import models
from django.db.models import ProtectedError
from django.db.models.base import ModelBase
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from payments_pages.choices import FulfilmentState, Reason
from payments_pages.models.querysets import DueQuerySet, LoadsDeferredTogether
from payments_pages.models.transactions import Transaction

__all__ = ["Fulfilment", "FulfilmentQuerySet", "derive_idempotency_key", "fulfilment_of"]

# Never change it: with another one the other side would do again what it has done.
_NAMESPACE: Final = uuid.UUID("fb6a15d1-0001-4300-8d62-901dcfd1a22e")

_LONG_AGO: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
"""Before any time that is stored."""


def fulfilment_of(transaction: Transaction | None) -> "Fulfilment | None":
    """Return a transaction's delivery; None if none was opened, or there is no transaction."""
    return getattr(transaction, "fulfilment", None)


def derive_idempotency_key(reference_key: str) -> uuid.UUID:
    """Return the idempotency key of a payment: the `uuid5` of its `reference_key`.

    It is not random: a database that was restored from a backup has lost its newest rows, and the
    other side must recognise the same payment. The namespace
    is `fb6a15d1-0001-4300-8d62-901dcfd1a22e`.
    """
    return uuid.uuid5(_NAMESPACE, reference_key)


class IdempotencyKeyField(models.UUIDField):  # type: ignore[type-arg]  # not generic at run time
    """A key that is derived from the row's `reference_key` whenever the row is inserted."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: FBT001 - Django's signature
        """Derive the key of a new row, whatever it was given; leave that of an old one."""
        if add:
            row: Any = model_instance
            setattr(row, self.attname, derive_idempotency_key(row.reference_key))
        return super().pre_save(model_instance, add)

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """Appear in migrations as Django's own field, because the column is the same."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.UUIDField", args, kwargs


class FulfilmentQuerySet(DueQuerySet["Fulfilment"]):
    """Deliveries, and those of them that must be made."""

    open_states = FulfilmentState.open()

    def overrun(self) -> Self:
        """Return the deliveries that take longer than their lease, the oldest first.

        Either a process has died, and the next sweep delivers; or a handler hangs.
        """
        return self.due().filter(state=FulfilmentState.DELIVERING)

    def unattributed(self) -> Self:
        """Return the holds of which nothing says what they pay for, and staff have not decided."""
        return self.filter(state=FulfilmentState.HELD, reason=Reason.UNATTRIBUTED, decided_by="")

    def mark_for_decision(self) -> int:
        """Let the next sweep decide the unattributed holds again, because a page has changed."""
        return self.unattributed().filter(decide_again=False).update(decide_again=True)

    def money_back(self) -> Self:
        """Return what was delivered and then reversed, refunded in part, or disputed.

        Without what staff have seen.
        """
        # Django writes `money_back_unseen=True` as a bare column, for which SQLite has no index.
        return self.filter(
            money_back_unseen__in=(True,),
            money_back_at__gt=_LONG_AGO,
            state=FulfilmentState.DELIVERED,
        )

    def told_since(self, time: dt.datetime) -> Self:
        """Return what the service has told a reversal, refund or dispute of since a time."""
        # Both values, for the index, which begins with them.
        return self.filter(money_back_unseen__in=(False, True), money_back_at__gte=time)

    def money_back_by(self, time: dt.datetime | None) -> Self:
        """Return what staff have not seen of the refunds and disputes until a time read from a row.

        Not "equal": SQLite compares texts. Its clock writes milliseconds, and Django compares with
        microseconds, or at a full second with none.
        """
        if time is None:
            return self.none()
        return self.filter(
            money_back_unseen=True, money_back_at__lt=time + dt.timedelta(milliseconds=1)
        )

    def delete(self) -> NoReturn:
        """Refuse: without its row a payment would be delivered once more."""
        _refuse_deletion(self[:_NAMED])


_NAMED: Final = 20
"""Rows that the error of a refused deletion names."""


def _refuse_deletion(rows: "Iterable[Fulfilment]") -> NoReturn:
    raise ProtectedError(
        "A fulfilment prevents a second delivery of its payment, so it cannot be deleted. "
        "payments_pages_purge removes the payer's data.",
        set(rows),
    )


class Fulfilment(LoadsDeferredTogether):
    """The delivery of one transaction, which is made once.

    The unique columns guarantee it: one row for each reference, and one for each transaction.

    - `attempts` is the fence: it only rises, and only the latest attempt may write.
    - `next_at` is the next try or, while `delivering`, the end of the lease. Of an unattributed
      hold: the time until when its payer may still come back and say what was paid for; then staff
      are told.
    - `decide_again`: a page was added or changed since an unattributed hold was decided.
    - `money_back_at`: when the service last told that the payment was reversed, refunded or
      disputed. `money_back_unseen`: staff have not seen it yet.
    - `idempotency_key` is the same for every attempt, also after a restored backup, for handlers
      that call other systems. It is set when the row is inserted.
    """

    transaction = models.OneToOneField(
        Transaction,
        verbose_name=_("payment"),
        on_delete=models.PROTECT,
        related_name="fulfilment",
    )
    reference_key = models.CharField(max_length=64, editable=False)
    idempotency_key = IdempotencyKeyField(_("idempotency key"), unique=True, editable=False)
    state = models.CharField(_("state"), max_length=16, choices=FulfilmentState)
    reason = models.CharField(
        _("reason"), max_length=32, choices=Reason, default=Reason.NONE, blank=True
    )
    overpaid = models.BooleanField(_("overpaid"), default=False)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    next_at = models.DateTimeField(_("next try"), null=True)
    last_error = models.TextField(_("last error"), blank=True)
    decide_again = models.BooleanField(default=False, editable=False)
    decided_by = models.CharField(_("decided by"), max_length=150, blank=True)
    note = models.TextField(_("note"), blank=True)
    money_back_at = models.DateTimeField(_("refund or dispute"), null=True, editable=False)
    money_back_unseen = models.BooleanField(default=False, editable=False)
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
            models.Index(
                fields=["money_back_unseen", "money_back_at"], name="pp_fulfilment_money_back"
            ),
        ]
        permissions = [
            ("retry_fulfilment", _("Can try a delivery again")),
            ("approve_fulfilment", _("Can approve what is held")),
            ("reject_fulfilment", _("Can reject what is held")),
        ]

    def save(
        self,
        *,
        force_insert: bool | tuple[ModelBase, ...] = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Insert a new row; of one that is there write the `note`, and nothing else.

        A handler has the row as it was when its attempt began. If all of it were saved, it would
        undo the mark of the delivery, or let an outdated attempt win. Raise `ValueError` for
        another field in `update_fields`.
        """
        if not (self._state.adding or force_insert):
            named = (
                {"note"} - self.get_deferred_fields() if update_fields is None else update_fields
            )
            update_fields = set(named)
            if update_fields - {"note"}:
                raise ValueError(
                    "Only the note of a fulfilment can be saved. Use payments_pages.staff for "
                    "decisions; the path writes the other fields."
                )
        super().save(
            force_insert=force_insert,
            force_update=force_update,
            using=using,
            update_fields=update_fields,
        )

    def delete(self, using: str | None = None, keep_parents: bool = False) -> NoReturn:  # noqa: ARG002, FBT001, FBT002 - Django's signature
        """Refuse: without its row a payment would be delivered once more."""
        _refuse_deletion([self])

    def __str__(self) -> str:
        return f"{self.get_state_display()} ({self.reference_key[:8]})"
