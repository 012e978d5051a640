"""Let staff bring in a reference by hand: one that no callback and no webhook ever brought."""

from dataclasses import dataclass

from django import forms
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin import permissions
from payments_pages.admin.errors import database_busy_message, explain
from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.admin.transactions.action_views import actor_name
from payments_pages.choices import Outcome
from payments_pages.confirmation import Confirmation
from payments_pages.db import outside_transactions
from payments_pages.exceptions import InvalidReference, PaymentsPagesError
from payments_pages.models import Verification
from payments_pages.references import check_reference, reference_key
from payments_pages.staff import verify_reference

__all__ = ["ByHand", "ReferenceForm", "Result"]

_GOOD = frozenset({Outcome.DELIVERED, Outcome.ALREADY_DELIVERED})
_EXPLANATIONS = {
    Outcome.UNKNOWN: gettext_lazy(
        "The service does not know this reference now. Check each letter, small and capital. "
        "It is noted, and asked about again by itself."
    ),
    Outcome.UNAVAILABLE: gettext_lazy(
        "That says nothing about the payment. The reference is noted, and asked about again by "
        "itself."
    ),
    Outcome.PENDING: gettext_lazy("It is asked about again by itself."),
    Outcome.HELD: gettext_lazy("Open the payment to see why, and what can be done."),
    Outcome.DELIVERY_FAILED: gettext_lazy("Open the payment to see why."),
}


class ReferenceForm(forms.Form):
    """Ask for one reference; what cannot be one is refused before anything is asked."""

    reference = forms.CharField(
        label=gettext_lazy("Reference"),
        max_length=1000,
        help_text=gettext_lazy(
            "From the payer's receipt or the service's own pages; small and capital letters differ."
        ),
        widget=forms.TextInput(
            attrs={
                "class": "vTextField",
                "dir": "ltr",
                "autocomplete": "off",
                "autocapitalize": "off",
                "spellcheck": "false",
            }
        ),
    )

    def clean_reference(self) -> str:
        """Return the reference without blanks around it."""
        try:
            return check_reference(self.cleaned_data["reference"])
        except InvalidReference as error:
            message = _("This cannot be a reference: it has other characters, or is too long.")
            raise forms.ValidationError(message) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Say what was found: `good`, `attention` or `error`; and where it can be seen, if anywhere."""

    kind: str
    outcome: str
    explanation: str = ""
    trouble: str = ""
    link: str = ""
    link_text: str = ""


class ByHand(ReadOnlyAdmin):
    """Add the page "Verify a reference" to the transactions' admin."""

    def get_urls(self) -> list[URLPattern]:
        """Put the page before the addresses of single payments, which take everything."""
        view = outside_transactions(self.admin_site.admin_view(self.by_hand_view))
        name = "payments_pages_transaction_verify_reference"
        return [path("verify/", view, name=name), *super().get_urls()]

    def by_hand_view(self, request: HttpRequest) -> HttpResponse:
        """Take a reference through the path, as every door does, and say what came of it."""
        if not request.user.has_perm(permissions.VERIFY):
            raise PermissionDenied
        form = ReferenceForm(request.POST if request.method == "POST" else None)
        result = self._result(request, form) if form.is_valid() else None
        context = {
            **self.admin_site.each_context(request),
            "title": _("Verify a reference"),
            "opts": self.opts,
            "form": form,
            "result": result,
            "has_view_permission": self.has_view_permission(request),
            "media": self.media + form.media,
        }
        template = "admin/payments_pages/transaction/verify_reference.html"
        return TemplateResponse(request, template, context)

    def _result(self, request: HttpRequest, form: ReferenceForm) -> Result:
        reference = form.cleaned_data["reference"]
        try:
            found = verify_reference(reference, actor=actor_name(request))
            row = Verification.objects.primary().filter(reference_key=reference_key(reference))
            return self._told(request, found, row.first())
        except PaymentsPagesError as error:
            return Result(kind="error", outcome=explain(error))
        except (DatabaseError, InterfaceError) as error:
            return Result(kind="error", outcome=database_busy_message(error))

    def _told(self, request: HttpRequest, found: Confirmation, row: Verification | None) -> Result:
        link, link_text = "", ""
        if found.transaction is not None:
            self.log_change(request, found.transaction, f"verify: {found.outcome.label}")
            if self.has_view_permission(request):
                link, link_text = (
                    self.reverse("payments_pages_transaction_change", found.transaction.pk),
                    _("Open the payment"),
                )
        elif row is not None and request.user.has_perm(permissions.VERIFICATIONS):
            link, link_text = (
                self.reverse("payments_pages_verification_change", row.pk),
                _("See how asking goes"),
            )
        later = found.outcome in {Outcome.UNAVAILABLE, Outcome.UNKNOWN}
        return Result(
            kind="good" if found.outcome in _GOOD else "error" if later else "attention",
            outcome=str(found.outcome.label),
            explanation=str(_EXPLANATIONS.get(found.outcome, "")),
            trouble=row.last_error
            if row is not None and found.outcome == Outcome.UNAVAILABLE
            else "",
            link=link,
            link_text=link_text,
        )
