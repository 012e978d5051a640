"""Filters of payments by the state of the delivery, and by the reason of a hold.

Neither queries the database for its choices.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.choices import FulfilmentState, Reason
from payments_pages.confirmation import loud_holds
from payments_pages.models import Fulfilment, Transaction
from payments_pages.staff import day_bounds, told_of_money_back

__all__ = ["DELIVERY_REASONS", "DeliveryFilter", "HoldFilter", "MoneyBackFilter"]

DELIVERY_REASONS = (Reason.ATTEMPTS_SPENT, Reason.PERMANENT_ERROR)
"""Reasons of a hold that come from the handler, not from the policy."""


class DeliveryFilter(admin.ChoicesFieldListFilter):
    """A filter by the state of the fulfilment, with the title of the list's column."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = _("delivery")


class HoldFilter(admin.SimpleListFilter):
    """A filter by the reason of a hold, or by one of the two kinds of reasons.

    `held=decision`: the policy held it for staff. `held=delivery`: the handler could not deliver.
    """

    title = gettext_lazy("reason of a hold")
    parameter_name = "held"
    decision, delivery = "decision", "delivery"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the two kinds and each reason."""
        kinds = [
            (self.decision, _("Waits for a decision")),
            (self.delivery, _("Delivery given up")),
        ]
        return kinds + [(reason.value, str(reason.label)) for reason in Reason if reason.value]

    def queryset(
        self,
        request: HttpRequest,
        queryset: QuerySet[Transaction],
    ) -> QuerySet[Transaction] | None:
        """Filter the list; an unknown reason finds nothing."""
        chosen = self.value()
        if chosen is None:
            return None
        held = Fulfilment.objects.using(queryset.db).filter(state=FulfilmentState.HELD)
        kinds = {self.decision: loud_holds(), self.delivery: Q(reason__in=DELIVERY_REASONS)}
        found = held.filter(kinds.get(chosen, Q(reason=chosen)))
        return queryset.filter(fulfilment__in=found)


class MoneyBackFilter(admin.SimpleListFilter):
    """A filter of what was reversed, refunded or disputed."""

    title = gettext_lazy("refund or dispute")
    parameter_name = "money_back"
    unseen = "unseen"
    recent = "recent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices: until staff have seen it, or in the days of the totals."""
        return [
            (self.unseen, _("Delivered, not yet seen by staff")),
            (self.recent, _("Told in the last 30 days")),
        ]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Transaction]
    ) -> QuerySet[Transaction] | None:
        """Filter the list; another value finds nothing."""
        chosen = self.value()
        if chosen is None:
            return None
        if chosen == self.recent:
            return queryset.filter(told_of_money_back(day_bounds()[0]))
        found = Fulfilment.objects.using(queryset.db).money_back()
        return queryset.filter(fulfilment__in=found) if chosen == self.unseen else queryset.none()
