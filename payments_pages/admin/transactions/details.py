"""The page of one payment: its state explained, what it pays for, its data and its timeline."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from payments_pages.admin import permissions
from payments_pages.admin.formats import (
    format_time,
    ltr,
    mode_name,
    money,
    page_name,
    paid_of,
    pretty,
    quoted,
    quoted_error,
)
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.admin.statuses import delivery_status, payment_status
from payments_pages.admin.timeline import build_timeline
from payments_pages.admin.transactions.action_views import possible_actions, who_else
from payments_pages.admin.transactions.explanation import explain_payment
from payments_pages.admin.transactions.payer import PayerAdminMixin
from payments_pages.choices import FulfilmentState, Mode
from payments_pages.conf import conf
from payments_pages.ids import parse_id
from payments_pages.models import Fulfilment, Transaction, Verification

__all__ = ["DetailsAdminMixin"]

_WITH = ("fulfilment", "page", "expected_payment")


class DetailsAdminMixin(PayerAdminMixin, ReadOnlyAdmin):
    """The page of one payment: its explanation, its fields, all read-only, and its timeline."""

    change_form_template = "admin/payments_pages/transaction/change_form.html"
    fields_of_service = (
        ("message", "gateway_response"), ("channel", "mode"), ("paid_fees", "remote_id"),
        ("made_moment", "verified_moment"),
    )  # fmt: skip
    raw_fields = (
        "kept_customer", "kept_authorization", "kept_metadata", "kept_log", "kept_unreadable",
    )  # fmt: skip

    def get_object(
        self,
        request: HttpRequest,
        object_id: str,
        from_field: str | None = None,
    ) -> Transaction | None:
        """Read it with its related rows from the primary database: decisions depend on them."""
        pk = parse_id(object_id)
        if pk is None:
            return None
        return Transaction.objects.primary().select_related(*_WITH).filter(pk=pk).first()

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return the page's sections; the payer's data only if the reader may see customers."""
        shown = sees_customers(request)
        payer = self.fields_of_payer if shown else self.masked_fields_of_payer
        parts: list[tuple[str, dict[str, Any]]] = [
            (_("Payer"), {"fields": payer}),
            (_("What it pays for"), {"fields": ("page_link", "expected", "known_by")}),
        ]
        fulfilment: Fulfilment | None = getattr(obj, "fulfilment", None)
        if fulfilment is not None:
            parts.append((_("Delivery"), {"fields": _fields_of_delivery(fulfilment)}))
        said = {"fields": self.fields_of_service, "classes": ("collapse",)}
        parts.append((_("What the service said"), said))
        if shown:
            raw = {"fields": self.raw_fields, "classes": ("collapse",)}
            parts.append((_("As the service sent it"), raw))
        return parts

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add the explanation, the possible actions and the timeline."""
        transaction: Transaction | None = kwargs.get("obj")
        if transaction is not None:
            key = transaction.reference_key
            row = Verification.objects.primary().filter(reference_key=key).first()
            context |= {
                "explanation": explain_payment(transaction, row),
                "possible": possible_actions(self, request, transaction),
                "timeline": build_timeline(
                    row, transaction, customers_shown=sees_customers(request)
                ),
                "who_else": who_else(request, transaction),
                "payers_view": self._payers_view(request, transaction),
                "headline": _headline(transaction),
                "verification": self._verification_link(request, row),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def _verification_link(self, request: HttpRequest, row: Verification | None) -> str:
        if row is None or not request.user.has_perm(permissions.VERIFICATIONS):
            return ""
        return self.link_to("payments_pages_verification_change", row.pk)

    def _payers_view(self, request: HttpRequest, transaction: Transaction) -> str:
        """Return the address of the page that the payer sees; "" if the site has no such view.

        It is sent to payers, so it does not depend on the language of the reader.
        """
        try:
            with override(settings.LANGUAGE_CODE):
                path = reverse(conf.result_view, kwargs={"token": transaction.token})
        except NoReverseMatch:
            return ""
        return f"{conf.site_url}{path}" if conf.site_url else request.build_absolute_uri(path)

    @admin.display(description=gettext_lazy("payment page"))
    def page_link(self, transaction: Transaction) -> SafeString | str:
        if transaction.page is None:
            return "–"
        name = page_name(transaction.page)
        url = self.link_to("payments_pages_paymentpage_change", transaction.page.pk)
        return format_html('<a href="{}">{}</a>', url, name) if url else name

    @admin.display(description=gettext_lazy("expected payment"))
    def expected(self, transaction: Transaction) -> SafeString | str:
        expected = transaction.expected_payment
        if expected is None:
            return "–"
        price = money(expected.amount, expected.currency)
        return format_html("{} ({})", ltr(expected.reference), price)

    @admin.display(description=gettext_lazy("how we know"))
    def known_by(self, transaction: Transaction) -> str:
        return str(transaction.get_attributed_by_display())

    @admin.display(description=gettext_lazy("mode"))
    def mode(self, transaction: Transaction) -> str:
        return mode_name(transaction.domain)

    @admin.display(description=gettext_lazy("fees"))
    def paid_fees(self, transaction: Transaction) -> SafeString:
        return money(transaction.fees, transaction.currency)

    @admin.display(description=gettext_lazy("begun at"))
    def made_moment(self, transaction: Transaction) -> SafeString:
        return format_time(transaction.created_at)

    @admin.display(description=gettext_lazy("verified at"))
    def verified_moment(self, transaction: Transaction) -> SafeString:
        return format_time(transaction.verified_at)

    @admin.display(description=gettext_lazy("metadata"))
    def kept_metadata(self, transaction: Transaction) -> SafeString:
        return pretty(transaction.metadata)

    @admin.display(description=gettext_lazy("log"))
    def kept_log(self, transaction: Transaction) -> SafeString:
        return pretty(transaction.log)

    @admin.display(description=gettext_lazy("unreadable fields"))
    def kept_unreadable(self, transaction: Transaction) -> SafeString | str:
        return pretty(transaction.unreadable) if transaction.unreadable else "–"

    @admin.display(description=gettext_lazy("customer"))
    def kept_customer(self, transaction: Transaction) -> SafeString:
        return pretty(transaction.customer)

    @admin.display(description=gettext_lazy("card"))
    def kept_authorization(self, transaction: Transaction) -> SafeString:
        return pretty(transaction.authorization)  # never with the reusable code: it is not stored

    @admin.display(description=gettext_lazy("attempts"))
    def attempts(self, transaction: Transaction) -> int:
        return _delivery_of(transaction).attempts

    @admin.display(description=gettext_lazy("last error"))
    def last_error(self, transaction: Transaction) -> SafeString:
        return quoted_error(_delivery_of(transaction).last_error)

    @admin.display(description=gettext_lazy("decided by"))
    def decided(self, transaction: Transaction) -> SafeString | str:
        row = _delivery_of(transaction)
        if not row.decided_by:
            return "–"
        return format_html("<bdi>{}</bdi>: {}", row.decided_by, quoted(row.note))

    @admin.display(description=gettext_lazy("idempotency key"))
    def key(self, transaction: Transaction) -> SafeString:
        return ltr(str(_delivery_of(transaction).idempotency_key))


def _headline(transaction: Transaction) -> dict[str, Any]:
    return {
        "amount": paid_of(transaction),
        "is_test": transaction.domain == Mode.TEST,
        "facts": [
            (_("Payment"), payment_status(transaction)),
            (_("Delivery"), delivery_status(transaction)),
            (_("Paid at"), format_time(transaction.paid_at) or "–"),
        ],
    }


def _fields_of_delivery(fulfilment: Fulfilment) -> list[str]:
    """Name the fields of a delivery that are not empty, and that the explanation does not have."""
    explained = fulfilment.state in {FulfilmentState.FAILED, FulfilmentState.HELD}
    values = {
        "attempts": True,
        "last_error": fulfilment.last_error and not explained,
        "decided": fulfilment.decided_by and fulfilment.state not in FulfilmentState.final(),
        "key": True,
    }
    return [name for name, value in values.items() if value]


def _delivery_of(transaction: Transaction) -> Fulfilment:
    found: Fulfilment = transaction.fulfilment
    return found
