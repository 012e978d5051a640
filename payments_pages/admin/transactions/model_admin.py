"""The list of payments, each with its delivery beside it, and all URLs below it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from payments_pages.admin import permissions
from payments_pages.admin.filters import CurrencyFilter, ModeFilter, PageFilter, StatusFilter
from payments_pages.admin.formats import format_time, ltr, paid_of
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.statuses import delivery_status, payment_status
from payments_pages.admin.transactions.action_views import action_view
from payments_pages.admin.transactions.actions import ACTIONS
from payments_pages.admin.transactions.bulk_actions import (
    approve_held,
    attribute_held,
    reject_held,
    retry_delivery,
    verify_again,
)
from payments_pages.admin.transactions.details import DetailsAdminMixin
from payments_pages.admin.transactions.export import export_selected, export_view
from payments_pages.admin.transactions.filters import DeliveryFilter, HoldFilter
from payments_pages.admin.transactions.search import (
    is_hidden,
    open_searched_reference,
    search_transactions,
)
from payments_pages.admin.transactions.verify_reference import verify_reference_view
from payments_pages.db import outside_transactions
from payments_pages.models import Transaction
from payments_pages.staff import mask_email

__all__ = ["TransactionAdmin"]


@admin.register(Transaction)
class TransactionAdmin(DetailsAdminMixin):
    """The payments: their list, a page for each that explains it, and what staff can do."""

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
        verify_again, retry_delivery, approve_held, attribute_held, reject_held, export_selected,
    )  # fmt: skip
    change_list_template = "admin/payments_pages/transaction/change_list.html"

    class Media:
        css = {"all": ("payments_pages/admin.css",)}

    def get_urls(self) -> list[URLPattern]:
        """Put our URLs before Django's, the last of which matches every path."""
        return [
            self._path("verify/", verify_reference_view, "verify_reference"),
            self._path("export/", export_view, "export"),
            *(
                self._path(
                    f"<path:object_id>/{action.name}/",
                    partial(action_view, action=action),
                    action.name,
                )
                for action in ACTIONS
            ),
            *super().get_urls(),
        ]

    def _path(self, route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
        own = outside_transactions(self.admin_site.admin_view(partial(view, self)))
        pattern: URLPattern = path(route, own, name=f"payments_pages_transaction_{name}")
        return pattern

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Open what was searched for by its whole reference, or show the list."""
        found = open_searched_reference(self, request)
        if found is not None:
            return found
        context = dict(extra_context or {})
        if self.has_export_permission(request):
            url = self.reverse("payments_pages_transaction_export")
            context["export_url"] = f"{url}?{request.GET.urlencode()}"  # with the list's filters
        answer: HttpResponse = super().changelist_view(request, context)
        return answer

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Transaction], search_term: str
    ) -> tuple[QuerySet[Transaction], bool]:
        return search_transactions(request, queryset, search_term), False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed and not is_hidden(request, lookup)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Mask the e-mail address for people who may not see customers."""
        if sees_customers(request):
            return self.list_display
        return tuple("masked_email" if name == "email" else name for name in self.list_display)

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Return the fields that Django names beside the search box."""
        fields = super().get_search_fields(request)
        return fields if sees_customers(request) else fields[:1]

    # Django asks these for the actions of the list: `permissions=["retry"]`.

    def has_approve_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.APPROVE)

    def has_attribute_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.ATTRIBUTE)

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.EXPORT)

    def has_reject_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.REJECT)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.RETRY)

    def has_verify_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.VERIFY)

    @admin.display(description=gettext_lazy("reference"), ordering="reference")
    def code(self, transaction: Transaction) -> SafeString:
        return ltr(transaction.reference)

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def paid(self, transaction: Transaction) -> SafeString:
        return paid_of(transaction)

    @admin.display(description=gettext_lazy("payment"), ordering="status")
    def payment(self, transaction: Transaction) -> SafeString:
        return payment_status(transaction)

    @admin.display(description=gettext_lazy("delivery"), ordering="fulfilment__state")
    def delivery(self, transaction: Transaction) -> SafeString:
        return delivery_status(transaction)

    @admin.display(description=gettext_lazy("customer"))
    def email(self, transaction: Transaction) -> SafeString:
        return ltr(transaction.customer_email)

    @admin.display(description=gettext_lazy("customer"))
    def masked_email(self, transaction: Transaction) -> SafeString:
        return ltr(mask_email(transaction.customer_email))

    @admin.display(description=gettext_lazy("paid at"), ordering="paid_at")
    def paid_moment(self, transaction: Transaction) -> SafeString:
        return format_time(transaction.paid_at)
