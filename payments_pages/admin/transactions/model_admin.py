"""The list of payments, each with its delivery beside it, and all URLs below it."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin import AdminSite
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.utils.functional import lazy
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin import permissions
from payments_pages.admin.days_filter import DaysFilter
from payments_pages.admin.filters import CurrencyFilter, ModeFilter, PageFilter, StatusFilter
from payments_pages.admin.formats import (
    clamped,
    format_time,
    format_time_in_parts,
    paid_of,
    short_reference,
    zone_place,
)
from payments_pages.admin.lists import Names, Several
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.statuses import delivery_status, payment_and_delivery, payment_status
from payments_pages.admin.transactions.action_views import action_view
from payments_pages.admin.transactions.actions import ACTIONS
from payments_pages.admin.transactions.bulk_actions import (
    approve_held,
    attribute_held,
    reject_held,
    retry_delivery,
    verify_again,
)
from payments_pages.admin.transactions.change_list import PaymentChangeList
from payments_pages.admin.transactions.details import DetailsAdminMixin
from payments_pages.admin.transactions.export import (
    export_selected,
    export_selected_workbook,
    export_view,
    export_workbook_view,
)
from payments_pages.admin.transactions.filters import DeliveryFilter, HoldFilter, MoneyBackFilter
from payments_pages.admin.transactions.search import (
    is_hidden,
    open_searched_reference,
    search_transactions,
)
from payments_pages.admin.transactions.verify_reference import verify_reference_view
from payments_pages.db import outside_transactions
from payments_pages.models import Transaction
from payments_pages.staff import can_write_workbook, mask_email, mask_name

__all__ = ["TransactionAdmin"]


def _title() -> str:
    return _("paid at (%(place)s)") % {"place": zone_place()}


_paid_at_title = lazy(_title, str)
"""The header with the reader's time zone, which is another for each request."""


@admin.register(Transaction)
class TransactionAdmin(DetailsAdminMixin):
    """The payments: their list, a page for each that explains it, and what staff can do."""

    list_display: Several = ("paid_when", "paid", "product", "state", "payer", "code")
    list_filter: ClassVar[Several] = (
        ("paid_at", DaysFilter), PageFilter, ("status", StatusFilter),
        ("fulfilment__state", DeliveryFilter), HoldFilter, MoneyBackFilter,
        ("currency", CurrencyFilter), ("domain", ModeFilter),
    )  # fmt: skip
    list_select_related: ClassVar[bool | Names] = ("fulfilment", "page")
    search_fields: ClassVar[Names] = ("reference__istartswith", "customer_email__istartswith")
    time_field = "paid_at"
    index_orders = dict.fromkeys(
        ("fulfilment__", "held", "money_back"), "-fulfilment__transaction_id"
    )
    sortable_by: ClassVar[Names | None] = ("paid_when",)  # what has an index
    ordering: ClassVar[Several | None] = ("-pk",)
    actions: Several = (
        verify_again, retry_delivery, approve_held, attribute_held, reject_held, export_selected,
        export_selected_workbook,
    )  # fmt: skip
    change_list_template = "admin/payments_pages/transaction/change_list.html"

    class Media:
        css = {"all": ("payments_pages/admin.css",)}

    def __init__(self, model: type[Transaction], admin_site: AdminSite) -> None:
        """Show what needs attention on the first page, unless the site has a template of its own.

        This is an attribute of the site, and not a template that shadows Django's: so it does not
        depend on the order of the apps, and a template that another app or the project has put in
        place of `admin/index.html` is shown below it.
        """
        super().__init__(model, admin_site)
        if admin_site.index_template is None:
            admin_site.index_template = "admin/payments_pages/site_index.html"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list of payments, which says what those that it finds come to."""
        return PaymentChangeList

    def get_urls(self) -> list[URLPattern]:
        """Put our URLs before Django's, the last of which matches every path."""
        return [
            self._path("verify/", verify_reference_view, "verify_reference"),
            self._path("export/", export_view, "export"),
            self._path("export/xlsx/", export_workbook_view, "export_workbook"),
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
            filters = request.GET.urlencode()
            url = self.reverse("payments_pages_transaction_export")
            context["export_url"] = f"{url}?{filters}"
            if can_write_workbook():
                url = self.reverse("payments_pages_transaction_export_workbook")
                context["workbook_url"] = f"{url}?{filters}"
        answer: HttpResponse = super().changelist_view(request, context)
        return answer

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Transaction], search_term: str
    ) -> tuple[QuerySet[Transaction], bool]:
        return search_transactions(request, queryset, search_term), False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed and not is_hidden(request, lookup)

    def get_list_display(self, request: HttpRequest) -> Several:
        """Name the payers that are searched for; mask them for who may not see customers."""
        shown = "payer"
        if not sees_customers(request):
            shown = "masked_payer"
        elif request.GET.get(SEARCH_VAR):
            shown = "named_payer"
        return tuple(shown if name == "payer" else name for name in self.list_display)

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

    def has_export_workbook_permission(self, request: HttpRequest) -> bool:
        return can_write_workbook() and self.has_export_permission(request)

    def has_reject_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.REJECT)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.RETRY)

    def has_verify_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.VERIFY)

    @admin.display(description=gettext_lazy("reference"))
    def code(self, transaction: Transaction) -> SafeString:
        return short_reference(transaction.reference)

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def paid(self, transaction: Transaction) -> SafeString:
        return paid_of(transaction)

    @admin.display(description=gettext_lazy("page"))
    def product(self, transaction: Transaction) -> SafeString:
        return clamped(transaction.page.name if transaction.page else "")

    @admin.display(description=gettext_lazy("state"))
    def state(self, transaction: Transaction) -> SafeString:
        return payment_and_delivery(transaction)

    @admin.display(description=gettext_lazy("payment"), ordering="status")
    def payment(self, transaction: Transaction) -> SafeString:
        return payment_status(transaction)

    @admin.display(description=gettext_lazy("delivery"), ordering="fulfilment__state")
    def delivery(self, transaction: Transaction) -> SafeString:
        return delivery_status(transaction)

    @admin.display(description=gettext_lazy("payer"))
    def payer(self, transaction: Transaction) -> SafeString:
        return clamped(transaction.customer_email or transaction.customer_name)

    @admin.display(description=gettext_lazy("payer"))
    # Who searched by a name would not know the found payments by their e-mail addresses.
    def named_payer(self, transaction: Transaction) -> SafeString:
        lines = filter(None, (transaction.customer_email, transaction.customer_name))
        return format_html_join(" ", "{}", ((clamped(line),) for line in lines)) or clamped("")

    @admin.display(description=gettext_lazy("payer"))
    def masked_payer(self, transaction: Transaction) -> SafeString:
        masked = mask_email(transaction.customer_email) or mask_name(transaction.customer_name)
        return clamped(masked)

    @admin.display(description=_paid_at_title(), ordering="paid_at")
    def paid_when(self, transaction: Transaction) -> SafeString | str:
        """Show when it was paid; the zone is in the header. A payment's link, so never empty."""
        if transaction.paid_at is not None:
            return format_time_in_parts(transaction.paid_at)
        paid = transaction.status in {"success", "reversed"}
        return _("time unknown") if paid else _("not paid")

    @admin.display(description=gettext_lazy("paid at"))
    def paid_moment(self, transaction: Transaction) -> SafeString:
        return format_time(transaction.paid_at)
