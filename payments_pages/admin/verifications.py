"""The references that we ask, or asked, the service about."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin import permissions
from payments_pages.admin.filters import TroubleFilter, VouchedFilter
from payments_pages.admin.formats import (
    clamped,
    format_time,
    format_time_in_parts,
    ltr,
    mode_name,
    quoted_error,
)
from payments_pages.admin.lists import Names, Several
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.admin.timeline import build_timeline
from payments_pages.admin.transactions.bulk_actions import stop_asking, verify_again
from payments_pages.admin.transactions.search import keys_of
from payments_pages.choices import VerificationState
from payments_pages.db import outside_transactions
from payments_pages.ids import parse_id
from payments_pages.marks import clean_pasted
from payments_pages.models import PaymentPage, Transaction, Verification
from payments_pages.staff import may_stop_asking

__all__ = ["VerificationAdmin"]


@admin.register(Verification)
class VerificationAdmin(ReadOnlyAdmin):
    """The references and their verification; payments are listed as transactions."""

    list_display: Several = (
        "listed_code", "state", "attempts", "listed_next", "error", "listed_seen",
    )  # fmt: skip
    list_filter: ClassVar[Several] = ("state", VouchedFilter, TroubleFilter)  # what has an index
    search_fields: ClassVar[Names] = ("reference__exact",)
    sortable_by: ClassVar[Names | None] = ("listed_code", "listed_seen")  # what has an index
    ordering: ClassVar[Several | None] = ("-pk",)
    actions: Several = (verify_again, stop_asking)
    change_form_template = "admin/payments_pages/verification/change_form.html"
    fieldsets: ClassVar[Several | None] = (
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
        term = clean_pasted(search_term)
        found = queryset.filter(reference_key__in=keys_of(term)) if term else queryset
        return found, False

    def get_urls(self) -> list[URLPattern]:
        """Put our URL before Django's, the last of which matches every path."""
        stop = outside_transactions(self.admin_site.admin_view(self._stop_view))
        name = "payments_pages_verification_stop"
        return [path("<path:object_id>/stop/", stop, name=name), *super().get_urls()]

    def _stop_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask no more about one reference until somebody names it again."""
        if not (self.has_verify_permission(request) and self.has_view_permission(request)):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        pk = parse_id(object_id)
        rows = Verification.objects.primary()
        stop_asking(self, request, rows.none() if pk is None else rows.filter(pk=pk))
        return HttpResponseRedirect(self.reverse("payments_pages_verification_changelist"))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add the timeline."""
        row: Model | None = kwargs.get("obj")
        if isinstance(row, Verification):
            shown = sees_customers(request)
            transaction = _transactions_of(row).first()
            context["timeline"] = build_timeline(row, transaction, customers_shown=shown)
            if self.has_verify_permission(request) and may_stop_asking(row):
                context["stop_url"] = self.reverse("payments_pages_verification_stop", row.pk)
                context["is_unknown"] = row.state == VerificationState.UNKNOWN
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description=gettext_lazy("reference"), ordering="reference")
    def code(self, row: Verification) -> SafeString:
        return ltr(row.reference)

    @admin.display(description=gettext_lazy("reference"), ordering="reference")
    def listed_code(self, row: Verification) -> SafeString:
        return clamped(row.reference, direction="ltr")

    @admin.display(description=gettext_lazy("next ask"))
    def listed_next(self, row: Verification) -> SafeString | str:
        return format_time_in_parts(row.next_at, zone=True) if row.next_at else "–"

    @admin.display(description=gettext_lazy("first seen"), ordering="created_at")
    def listed_seen(self, row: Verification) -> SafeString:
        return format_time_in_parts(row.created_at, zone=True)

    @admin.display(description=gettext_lazy("payment"))
    def payment(self, row: Verification) -> SafeString | str:
        pk = _transactions_of(row).values_list("pk", flat=True).first()
        if pk is None:
            return _("The service has not reported a payment with this reference.")
        url = self.link_to("payments_pages_transaction_change", pk)
        if not url:
            return ltr(row.reference)
        return format_html('<a href="{}">{}</a>', url, _("Open the payment"))

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
        return quoted_error(row.last_error)

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


def _transactions_of(row: Verification) -> QuerySet[Transaction]:
    """Return the transaction of a reference: a queryset of one row, or of none."""
    return Transaction.objects.primary().filter(reference_key=row.reference_key)
