"""Let staff edit offers and look at licences."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from example_project.shop.models import Licence, Offer

__all__ = ["LicenceAdmin", "OfferAdmin"]


@admin.register(Offer)
class OfferAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for mypy only
    """Edit names and kind; the price is changed on the payment page."""

    list_display = ("name", "kind", "page")
    list_filter = ("kind",)
    list_select_related = ("page",)

    @admin.display(description=_("name"))
    def name(self, offer: Offer) -> str:
        """Show the name in the admin's language."""
        return offer.name


@admin.register(Licence)
class LicenceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic for mypy only
    """Show what was given. Read-only: only a delivery gives, nothing takes back."""

    list_display = ("code", "offer", "reference", "email", "created_at")
    list_select_related = ("offer__page", "fulfilment__transaction")
    search_fields = ("code", "email", "fulfilment__transaction__reference")

    @admin.display(description=_("reference"))
    def reference(self, licence: Licence) -> str:
        """Show the payment's reference."""
        return licence.fulfilment.transaction.reference

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - Django's signature
        """Forbid it to everyone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - Django's signature
        """Forbid it to everyone."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - Django's signature
        """Forbid it to everyone: a licence is the proof of a delivery."""
        return False
