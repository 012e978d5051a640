"""Show deliveries, and let staff decide about those that wait for them."""

from collections.abc import Callable

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages import staff
from payments_pages.admin.forms import explain
from payments_pages.admin.mirrors import ReadOnlyAdmin, ltr, moment, money, timeline
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import Fulfilment

__all__ = ["FulfilmentAdmin"]

Decide = Callable[[Fulfilment, str, str], str | None]


class ReasonForm(forms.Form):
    """Ask for the reason of a decision about money."""

    note = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto", "class": "vLargeTextField"}),
    )


@admin.register(Fulfilment)
class FulfilmentAdmin(ReadOnlyAdmin):
    """List deliveries; retry, approve, reject."""

    list_display = ("code", "paid", "state", "reason", "attempts", "opened")
    list_filter = ("state", "reason", "overpaid")
    list_select_related = ("transaction",)
    search_fields = ("transaction__reference__exact",)
    ordering = ("-pk",)
    actions = ("retry_delivery", "approve_held", "reject_held")
    fields = (
        "transaction", "paid", "state", "reason", "overpaid", "attempts", "next", "last_error",
        "decided_by", "note", "idempotency_key", "delivered", "opened", "events",
    )  # fmt: skip

    class Media:
        css = {"all": ("payments_pages/admin.css",)}

    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may try deliveries again."""
        return request.user.has_perm("payments_pages.retry_fulfilment")

    def has_approve_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may approve what is held."""
        return request.user.has_perm("payments_pages.approve_fulfilment")

    def has_reject_permission(self, request: HttpRequest) -> bool:
        """Say whether this person may reject what is held."""
        return request.user.has_perm("payments_pages.reject_fulfilment")

    @admin.action(description=gettext_lazy("Try the delivery again"), permissions=["retry"])
    def retry_delivery(self, request: HttpRequest, queryset: QuerySet[Fulfilment]) -> None:
        """Run the handler again for what failed."""
        self._each(request, queryset, "", _retry)

    @admin.action(description=gettext_lazy("Approve what is held…"), permissions=["approve"])
    def approve_held(
        self, request: HttpRequest, queryset: QuerySet[Fulfilment]
    ) -> HttpResponse | None:
        """Deliver against the policy, for a reason."""
        return self._decide(request, queryset, "approve_held", _("Approve and deliver"), _approve)

    @admin.action(description=gettext_lazy("Reject…"), permissions=["reject"])
    def reject_held(
        self, request: HttpRequest, queryset: QuerySet[Fulfilment]
    ) -> HttpResponse | None:
        """Refuse for good, for a reason."""
        return self._decide(request, queryset, "reject_held", _("Reject"), _reject)

    def _decide(
        self,
        request: HttpRequest,
        queryset: QuerySet[Fulfilment],
        action: str,
        title: str,
        decide: Decide,
    ) -> HttpResponse | None:
        """Ask for the reason on a page of its own; then decide about each."""
        form = ReasonForm(request.POST if "confirmed" in request.POST else None)
        if form.is_valid():
            self._each(request, queryset, form.cleaned_data["note"], decide)
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "form": form,
            "action": action,
            "fulfilments": [
                (row, ltr(row.transaction.reference), self.paid(row)) for row in queryset
            ],
        }
        name = "admin/payments_pages/fulfilment/decide.html"
        return TemplateResponse(request, name, context)

    def _each(
        self, request: HttpRequest, queryset: QuerySet[Fulfilment], note: str, decide: Decide
    ) -> None:
        """Decide about each row by itself, and say what became of it."""
        for row in queryset.select_related("transaction"):
            reference = row.transaction.reference
            try:
                outcome = decide(row, request.user.get_username(), note)
            except PaymentsPagesError as error:
                self.message_user(request, f"{reference}: {explain(error)}", messages.ERROR)
                continue
            if outcome is None:
                text = _("%(reference)s: nothing to do in this state.") % {"reference": reference}
                self.message_user(request, text, messages.WARNING)
            else:
                self.message_user(request, f"{reference}: {outcome}")

    @admin.display(description=gettext_lazy("reference"), ordering="transaction__reference")
    def code(self, row: Fulfilment) -> SafeString:
        """Show the reference."""
        return ltr(row.transaction.reference)

    @admin.display(description=gettext_lazy("amount"))
    def paid(self, row: Fulfilment) -> SafeString:
        """Show what was paid."""
        return money(row.transaction.amount, row.transaction.currency)

    @admin.display(description=gettext_lazy("next try"))
    def next(self, row: Fulfilment) -> SafeString:
        """Show when it is tried next."""
        return moment(row.next_at)

    @admin.display(description=gettext_lazy("delivered at"))
    def delivered(self, row: Fulfilment) -> SafeString:
        """Show when the value was given."""
        return moment(row.delivered_at)

    @admin.display(description=gettext_lazy("opened"), ordering="created_at")
    def opened(self, row: Fulfilment) -> SafeString:
        """Show when it was opened."""
        return moment(row.created_at)

    @admin.display(description=gettext_lazy("timeline"))
    def events(self, row: Fulfilment) -> SafeString:
        """Show what happened to it."""
        return timeline(row.reference_key)


def _retry(row: Fulfilment, actor: str, _note: str) -> str | None:
    outcome = staff.retry(row, actor=actor)
    return outcome and str(outcome.label)


def _approve(row: Fulfilment, actor: str, note: str) -> str | None:
    outcome = staff.approve(row, actor=actor, note=note)
    return outcome and str(outcome.label)


def _reject(row: Fulfilment, actor: str, note: str) -> str | None:
    return _("rejected") if staff.reject(row, actor=actor, note=note) else None
