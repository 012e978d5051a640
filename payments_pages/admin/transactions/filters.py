"""Filter payments by how far their delivery is, and by why it is held; neither asks the database."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.choices import FulfilmentState, Reason
from payments_pages.confirmation import loud_holds
from payments_pages.models import Fulfilment, Transaction

__all__ = ["DELIVERY_REASONS", "DeliveryFilter", "HoldFilter"]

DELIVERY_REASONS = (Reason.ATTEMPTS_SPENT, Reason.PERMANENT_ERROR)
"""Holds that the handler made, not the policy."""


class DeliveryFilter(admin.ChoicesFieldListFilter):
    """Filter by the fulfilment's state, under the name that the column has."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = _("delivery")


class HoldFilter(admin.SimpleListFilter):
    """Filter by why staff are asked: by one reason, or by which of the two kinds it is.

    `held=decision` is what the policy holds for staff, `held=delivery` what the handler could not give.
    """

    title = gettext_lazy("reason of a hold")
    parameter_name = "held"
    decision, delivery = "decision", "delivery"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - Django's signature
        """Return the two kinds and each reason that a hold can have."""
        kinds = [
            (self.decision, _("Waits for a decision")),
            (self.delivery, _("Delivery given up")),
        ]
        return kinds + [(reason.value, str(reason.label)) for reason in Reason if reason.value]

    def queryset(
        self,
        request: HttpRequest,  # noqa: ARG002 - Django's signature
        queryset: QuerySet[Transaction],
    ) -> QuerySet[Transaction] | None:
        """Narrow the list; a word that is no reason finds nothing."""
        chosen = self.value()
        if chosen is None:
            return None
        held = Fulfilment.objects.using(queryset.db).filter(state=FulfilmentState.HELD)
        kinds = {self.decision: loud_holds(), self.delivery: Q(reason__in=DELIVERY_REASONS)}
        found = held.filter(kinds.get(chosen, Q(reason=chosen)))
        return queryset.filter(fulfilment__in=found)
