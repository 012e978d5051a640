"""Show what is still being asked about."""

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from payments_pages.admin.mirrors import ModeFilter, ReadOnlyAdmin, ltr, mode_name, moment, timeline
from payments_pages.admin.transactions import verify_again
from payments_pages.models import Verification

__all__ = ["VerificationAdmin"]


@admin.register(Verification)
class VerificationAdmin(ReadOnlyAdmin):
    """List references with how asking went."""

    list_display = ("code", "state", "attempts", "next", "last_error", "seen")
    list_filter = ("state", "first_door", ("mode", ModeFilter))
    search_fields = ("reference__exact",)
    ordering = ("-pk",)
    actions = (verify_again,)
    fields = (
        "code", "state", "money_mode", "first_door", "vouched", "attempts", "next", "last_error", "seen",
        "events",
    )  # fmt: skip

    class Media:
        css = {"all": ("payments_pages/admin.css",)}

    def has_verify_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may ask the service again."""
        return request.user.has_perm("payments_pages.verify_transaction")

    @admin.display(description=gettext_lazy("reference"), ordering="reference")
    def code(self, row: Verification) -> SafeString:
        """Show the reference."""
        return ltr(row.reference)

    @admin.display(description=gettext_lazy("mode"))
    def money_mode(self, row: Verification) -> str:
        """Say whether it is about test or live money."""
        return mode_name(row.mode)

    @admin.display(description=gettext_lazy("next ask"), ordering="next_at")
    def next(self, row: Verification) -> SafeString:
        """Show when it is asked about next."""
        return moment(row.next_at)

    @admin.display(description=gettext_lazy("first seen"), ordering="created_at")
    def seen(self, row: Verification) -> SafeString:
        """Show when it first came."""
        return moment(row.created_at)

    @admin.display(description=gettext_lazy("timeline"))
    def events(self, row: Verification) -> SafeString:
        """Show what happened to it."""
        return timeline(row.reference_key)
