"""Let staff edit offers and look at licences."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from example_project.shop.models import Licence, Offer, Order

__all__ = ["LicenceAdmin", "OfferAdmin", "OrderAdmin"]


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for mypy only
    """Show what only the shop itself writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - Django's signature
        """Forbid it to everyone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - Django's signature
        """Forbid it to everyone."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - Django's signature
        """Forbid it to everyone: a licence is the proof of a delivery, an order of a promise."""
        return False


@admin.register(Offer)
class OfferAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for mypy only
    """Edit names and kind; the price is changed on the payment page."""

    list_display = ("name", "kind", "popup", "page")
    list_filter = ("kind",)
    list_select_related = ("page",)

    @admin.display(description=_("name"))
    def name(self, offer: Offer) -> str:
        """Show the name in the admin's language."""
        return offer.name


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    """Show orders; one is paid when it has a licence."""

    list_display = ("expected", "offer", "is_paid", "created_at")
    list_select_related = ("offer__page", "expected", "licence")
    search_fields = ("expected__reference",)

    @admin.display(description=_("paid"), boolean=True)
    def is_paid(self, order: Order) -> bool:
        """Say whether the order has its licence."""
        return hasattr(order, "licence")


@admin.register(Licence)
class LicenceAdmin(ReadOnlyAdmin):
    """Show what was given. Read-only: only a delivery gives, nothing takes back."""

    list_display = ("code", "offer", "reference", "email", "created_at")
    list_select_related = ("offer__page", "fulfilment__transaction")
    search_fields = ("code", "email", "fulfilment__transaction__reference")

    @admin.display(description=_("reference"))
    def reference(self, licence: Licence) -> str:
        """Show the payment's reference."""
        return licence.fulfilment.transaction.reference
