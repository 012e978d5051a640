"""List payments with their delivery beside them: the one work list."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from payments_pages.admin.filters import CurrencyFilter, ModeFilter, PageFilter, StatusFilter
from payments_pages.admin.formats import format_time, ltr, paid_of
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.statuses import delivery_status, payment_status
from payments_pages.admin.transactions.bulk_actions import Selected, verify_again
from payments_pages.admin.transactions.details import Details
from payments_pages.admin.transactions.export import Export, export_selected
from payments_pages.admin.transactions.filters import DeliveryFilter, HoldFilter
from payments_pages.admin.transactions.search import Customers, Search
from payments_pages.admin.transactions.verify_reference import ByHand
from payments_pages.models import Transaction
from payments_pages.staff import mask_email

__all__ = ["TransactionAdmin"]


@admin.register(Transaction)
class TransactionAdmin(
    ByHand, Selected, Search, Details, Export, Customers,
):  # fmt: skip
    """List payments; explain each on a page of its own, and let staff act on it."""

    list_display = ("code", "paid", "payment", "delivery", "email", "paid_moment")
    list_filter = (
        ("status", StatusFilter), ("fulfilment__state", DeliveryFilter), HoldFilter,
        ("currency", CurrencyFilter), PageFilter, ("domain", ModeFilter), "paid_at",
    )  # fmt: skip
    list_select_related = ("fulfilment",)
    search_fields = ("reference__exact", "customer_email__istartswith")
    period_field = "paid_at"
    index_orders = dict.fromkeys(("fulfilment__", "held"), "-fulfilment__transaction_id")
    sortable_by = ("code", "paid_moment")  # what has an index
    ordering = ("-pk",)
    actions = (
        verify_again, "retry_delivery", "approve_held", "attribute_held", "reject_held",
        export_selected,
    )  # fmt: skip
    change_list_template = "admin/payments_pages/transaction/change_list.html"

    class Media:
        css = {"all": ("payments_pages/admin.css",)}

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Mask the address for those who may not see customers."""
        if sees_customers(request):
            return self.list_display
        return tuple("masked_email" if name == "email" else name for name in self.list_display)

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Say what the search box searches, for this person."""
        fields = super().get_search_fields(request)
        return fields if sees_customers(request) else fields[:1]

    @admin.display(description=gettext_lazy("reference"), ordering="reference")
    def code(self, transaction: Transaction) -> SafeString:
        """Show the reference."""
        return ltr(transaction.reference)

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def paid(self, transaction: Transaction) -> SafeString:
        """Show what was paid; what cannot be read is shown as it came."""
        return paid_of(transaction)

    @admin.display(description=gettext_lazy("payment"), ordering="status")
    def payment(self, transaction: Transaction) -> SafeString:
        """Show what the service says."""
        return payment_status(transaction)

    @admin.display(description=gettext_lazy("delivery"), ordering="fulfilment__state")
    def delivery(self, transaction: Transaction) -> SafeString:
        """Say how far the delivery is."""
        return delivery_status(transaction)

    @admin.display(description=gettext_lazy("customer"))
    def email(self, transaction: Transaction) -> SafeString:
        """Show the customer's address."""
        return ltr(transaction.customer_email)

    @admin.display(description=gettext_lazy("customer"))
    def masked_email(self, transaction: Transaction) -> SafeString:
        """Show enough of the address to tell two customers apart."""
        return ltr(mask_email(transaction.customer_email))

    @admin.display(description=gettext_lazy("paid at"), ordering="paid_at")
    def paid_moment(self, transaction: Transaction) -> SafeString:
        """Show when it was paid."""
        return format_time(transaction.paid_at)
