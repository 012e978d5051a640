"""Show what the service said about payments."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db import connections
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin.forms import explain
from payments_pages.admin.mirrors import (
    ModeFilter,
    ReadOnlyAdmin,
    ltr,
    mode_name,
    moment,
    money,
    pretty,
    timeline,
)
from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import Fulfilment, Transaction

__all__ = ["TransactionAdmin", "verify_again"]


@admin.action(description=gettext_lazy("Ask the service again"), permissions=["verify"])
def verify_again(modeladmin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    """Take each row's reference through the path anew; show what it found."""
    for reference in queryset.values_list("reference", flat=True):
        try:
            found = confirm_payment(
                reference,
                door=Door.ADMIN,
                refresh=True,
                vouched=True,
                deliver_now=True,
                actor=request.user.get_username(),
            )
        except PaymentsPagesError as error:
            modeladmin.message_user(request, f"{reference}: {explain(error)}", messages.ERROR)
        else:
            modeladmin.message_user(request, f"{reference}: {found.outcome.label}")


class PaidChangeList(ChangeList):
    """List payments, with a drill-down by date where the database knows time zones.

    A MariaDB or MySQL server whose time-zone tables were never loaded cannot truncate dates, and
    Django would answer 500; there the date filter at the side serves instead.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not connections[self.root_queryset.db].features.has_zoneinfo_database:
            self.date_hierarchy = None


@admin.register(Transaction)
class TransactionAdmin(ReadOnlyAdmin):
    """List payments with their delivery beside them; ask the service again."""

    list_display = ("code", "paid", "status", "delivery", "customer_email", "paid_moment")
    list_filter = ("status", "fulfilment__state", "currency", ("domain", ModeFilter), "paid_at")
    list_select_related = ("fulfilment",)
    search_fields = ("reference__exact", "customer_email__startswith")
    date_hierarchy = "paid_at"
    ordering = ("-pk",)
    actions = (verify_again,)
    fieldsets = (
        (None, {"fields": ("code", "paid", "status", "delivery", "paid_moment", "verified_moment")}),
        (gettext_lazy("What it pays for"), {"fields": ("page", "expected_payment", "attributed_by")}),
        (
            gettext_lazy("What the service said"),
            {
                "fields": (
                    "message", "gateway_response", "channel", "mode", "remote_id", "paid_fees",
                    "kept_metadata", "kept_log", "kept_unreadable",
                )
            },
        ),
        (
            gettext_lazy("Payer"),
            {"fields": ("customer_email", "ip_address", "kept_customer", "kept_authorization")},
        ),
        (gettext_lazy("Timeline"), {"fields": ("events",)}),
    )  # fmt: skip

    class Media:
        css = {"all": ("payments_pages/admin.css",)}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002 - Django's signature
        """Return the list that does without a drill-down where the database cannot give one."""
        return PaidChangeList

    def has_verify_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may ask the service again."""
        return request.user.has_perm("payments_pages.verify_transaction")

    @admin.display(description=gettext_lazy("reference"), ordering="reference")
    def code(self, transaction: Transaction) -> SafeString:
        """Show the reference."""
        return ltr(transaction.reference)

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def paid(self, transaction: Transaction) -> SafeString | str:
        """Show what was paid; what cannot be read is shown as it came."""
        if transaction.amount is None:
            return _("unreadable: %(text)s") % {"text": transaction.unreadable.get("amount", "")}
        return money(transaction.amount, transaction.currency)

    @admin.display(description=gettext_lazy("mode"))
    def mode(self, transaction: Transaction) -> str:
        """Say whether it was test or live money."""
        return mode_name(transaction.domain)

    @admin.display(description=gettext_lazy("fees"))
    def paid_fees(self, transaction: Transaction) -> SafeString:
        """Show the service's fees."""
        return money(transaction.fees, transaction.currency)

    @admin.display(description=gettext_lazy("delivery"), ordering="fulfilment__state")
    def delivery(self, transaction: Transaction) -> str:
        """Say how far the delivery is."""
        fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
        return fulfilment.get_state_display() if fulfilment else "–"

    @admin.display(description=gettext_lazy("paid at"), ordering="paid_at")
    def paid_moment(self, transaction: Transaction) -> SafeString:
        """Show when it was paid."""
        return moment(transaction.paid_at)

    @admin.display(description=gettext_lazy("verified at"))
    def verified_moment(self, transaction: Transaction) -> SafeString:
        """Show when the service last said so."""
        return moment(transaction.verified_at)

    @admin.display(description=gettext_lazy("metadata"))
    def kept_metadata(self, transaction: Transaction) -> SafeString:
        """Show the metadata as it came."""
        return pretty(transaction.metadata)

    @admin.display(description=gettext_lazy("log"))
    def kept_log(self, transaction: Transaction) -> SafeString:
        """Show the service's own log."""
        return pretty(transaction.log)

    @admin.display(description=gettext_lazy("unreadable fields"))
    def kept_unreadable(self, transaction: Transaction) -> SafeString:
        """Show what did not fit its column."""
        return pretty(transaction.unreadable)

    @admin.display(description=gettext_lazy("customer"))
    def kept_customer(self, transaction: Transaction) -> SafeString:
        """Show who paid."""
        return pretty(transaction.customer)

    @admin.display(description=gettext_lazy("card"))
    def kept_authorization(self, transaction: Transaction) -> SafeString:
        """Show what with; never the reusable code."""
        return pretty(transaction.authorization)

    @admin.display(description=gettext_lazy("timeline"))
    def events(self, transaction: Transaction) -> SafeString:
        """Show what happened to it."""
        return timeline(transaction.reference_key)
