"""The references that we ask, or asked, the service about."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin import permissions
from payments_pages.admin.filters import TroubleFilter, VouchedFilter
from payments_pages.admin.formats import format_time, ltr, mode_name, quoted
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.admin.timeline import build_timeline
from payments_pages.admin.transactions.bulk_actions import stop_asking, verify_again
from payments_pages.admin.transactions.search import keys_of
from payments_pages.models import PaymentPage, Transaction, Verification

__all__ = ["VerificationAdmin"]


@admin.register(Verification)
class VerificationAdmin(ReadOnlyAdmin):
    """The references and their verification; payments are listed as transactions."""

    list_display = ("code", "state", "attempts", "next", "error", "seen")
    list_filter = ("state", VouchedFilter, TroubleFilter)  # what has an index
    search_fields = ("reference__exact",)
    sortable_by = ("code", "seen")  # what has an index
    ordering = ("-pk",)
    actions = (verify_again, stop_asking)
    change_form_template = "admin/payments_pages/verification/change_form.html"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "code", "payment", "state", "money_mode", "first_door", "vouched",
                    "claimed", "attempts", "asked", "next", "error", "seen", "named",
                    "signed",
                )
            },
        ),
    )  # fmt: skip

    class Media:
        css = {"all": ("payments_pages/admin.css",)}

    def has_verify_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(permissions.VERIFY)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Filter by a whole reference, byte for byte."""
        term = search_term.strip()
        found = queryset.filter(reference_key__in=keys_of(term)) if term else queryset
        return found, False

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add the timeline."""
        row: Model | None = kwargs.get("obj")
        if isinstance(row, Verification):
            shown = sees_customers(request)
            paid = self._paid(row)
            context["timeline"] = build_timeline(row, paid, customers_shown=shown)
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description=gettext_lazy("reference"), ordering="reference")
    def code(self, row: Verification) -> SafeString:
        return ltr(row.reference)

    @admin.display(description=gettext_lazy("payment"))
    def payment(self, row: Verification) -> SafeString | str:
        paid = self._paid(row)
        if paid is None:
            return _("The service has not reported a payment with this reference.")
        url = self.reverse("payments_pages_transaction_change", paid.pk)
        return format_html('<a href="{}">{}</a>', url, _("Open the payment"))

    def _paid(self, row: Verification) -> Transaction | None:
        if not hasattr(row, "pp_paid"):
            rows = Transaction.objects.primary().filter(reference_key=row.reference_key)
            row.pp_paid = rows.first()  # type: ignore[attr-defined]  # read once for a page
        found: Transaction | None = row.pp_paid  # type: ignore[attr-defined]
        return found

    @admin.display(description=gettext_lazy("mode"))
    def money_mode(self, row: Verification) -> str:
        return mode_name(row.mode)

    @admin.display(description=gettext_lazy("claimed page"))
    def claimed(self, row: Verification) -> SafeString | str:
        page = row.page_claim and PaymentPage.objects.filter(token=row.page_claim).first()
        return format_html('<bdi dir="auto">{}</bdi>', page.name) if page else "–"

    @admin.display(description=gettext_lazy("last asked"), ordering="asked_at")
    def asked(self, row: Verification) -> SafeString | str:
        return format_time(row.asked_at) or "–"

    @admin.display(description=gettext_lazy("next ask"), ordering="next_at")
    def next(self, row: Verification) -> SafeString | str:
        return format_time(row.next_at) or "–"

    @admin.display(description=gettext_lazy("last error"))
    def error(self, row: Verification) -> SafeString:
        return quoted(row.last_error)

    @admin.display(description=gettext_lazy("last named"), ordering="named_at")
    # When a trusted source last named it: the schedule counts from then.
    def named(self, row: Verification) -> SafeString:
        return format_time(row.named_at)

    @admin.display(description=gettext_lazy("signed success"))
    # When a signed webhook first said that it is paid.
    def signed(self, row: Verification) -> SafeString | str:
        return format_time(row.signed_success_at) or "–"

    @admin.display(description=gettext_lazy("first seen"), ordering="created_at")
    def seen(self, row: Verification) -> SafeString:
        return format_time(row.created_at)
