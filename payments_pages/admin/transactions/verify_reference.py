"""The page "Verify a reference": for one that no callback and no webhook has brought."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin import permissions
from payments_pages.admin.errors import database_busy_message, explain
from payments_pages.admin.formats import quoted_error
from payments_pages.admin.transactions.action_views import actor_name
from payments_pages.choices import Outcome
from payments_pages.confirmation import Confirmation
from payments_pages.exceptions import InvalidReference, PaymentsPagesError
from payments_pages.marks import clean_pasted
from payments_pages.models import Verification
from payments_pages.references import LONGEST, check_reference, reference_key
from payments_pages.staff import verify_reference

__all__ = ["ReferenceForm", "Result", "verify_reference_view"]

_EXPLANATIONS = {
    Outcome.UNKNOWN: gettext_lazy(
        "The service does not know this reference now. Check each letter, small and capital. "
        "It was saved and will be checked again automatically."
    ),
    Outcome.UNAVAILABLE: gettext_lazy(
        "That says nothing about the payment. The reference was saved and will be checked again "
        "automatically."
    ),
    Outcome.PENDING: gettext_lazy("It will be checked again automatically."),
    Outcome.HELD: gettext_lazy("Open the payment to see why, and what can be done."),
    Outcome.DELIVERY_FAILED: gettext_lazy("Open the payment to see why."),
}


class ReferenceForm(forms.Form):
    """One reference. A text that cannot be a reference is refused without a call."""

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
        """Return the reference; raise `ValidationError` if the text cannot be one."""
        try:
            return check_reference(clean_pasted(self.cleaned_data["reference"]))
        except InvalidReference as error:
            message = _("This cannot be a reference: it has other characters, or is too long.")
            raise forms.ValidationError(message) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result that staff read. `kind` is "good", "attention" or "error"; `link` may be "".

    `stop_url` is blank, or takes a POST that ends the questions about a mistyped reference.
    """

    kind: str
    outcome: str
    explanation: str = ""
    trouble: str = ""
    link: str = ""
    link_text: str = ""
    stop_url: str = ""


def _stop_url(model_admin: Any, request: HttpRequest, row: Verification | None) -> str:
    """Return the URL that ends the questions about a reference; "" if its list is not to be seen."""
    if row is None or not request.user.has_perm(permissions.VERIFICATIONS):
        return ""
    url: str = model_admin.link_to("payments_pages_verification_stop", row.pk)
    return url


def verify_reference_view(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """Ask for a reference (GET), or verify it as every door does and show the outcome (POST)."""
    if not request.user.has_perm(permissions.VERIFY):
        raise PermissionDenied
    asked = clean_pasted(request.GET.get("reference", ""))  # what the list did not find
    form = ReferenceForm(
        request.POST if request.method == "POST" else None, initial={"reference": asked[:LONGEST]}
    )
    result = _verify(model_admin, request, form) if form.is_valid() else None
    context = {
        **model_admin.admin_site.each_context(request),
        "title": _("Verify a reference"),
        "opts": model_admin.opts,
        "form": form,
        "result": result,
        "has_view_permission": model_admin.has_view_permission(request),
        "media": model_admin.media + form.media,
    }
    template = "admin/payments_pages/transaction/verify_reference.html"
    return TemplateResponse(request, template, context)


def _verify(model_admin: Any, request: HttpRequest, form: ReferenceForm) -> Result:
    reference = form.cleaned_data["reference"]
    try:
        found = verify_reference(reference, actor=actor_name(request))
        rows = Verification.objects.primary().filter(reference_key=reference_key(reference))
        return _result(model_admin, request, found, rows.first())
    except PaymentsPagesError as error:
        return Result(kind="error", outcome=explain(error))
    except (DatabaseError, InterfaceError) as error:
        return Result(kind="error", outcome=database_busy_message(error))


def _result(
    model_admin: Any, request: HttpRequest, found: Confirmation, row: Verification | None
) -> Result:
    url, link_text = "", ""
    if found.transaction is not None:
        if model_admin.has_view_permission(request):
            url = model_admin.reverse("payments_pages_transaction_change", found.transaction.pk)
            link_text = _("Open the payment")
    elif row is not None and request.user.has_perm(permissions.VERIFICATIONS):
        url = model_admin.link_to("payments_pages_verification_change", row.pk)
        link_text = _("Open the reference")
    unavailable = found.outcome == Outcome.UNAVAILABLE
    later = unavailable or found.outcome == Outcome.UNKNOWN
    return Result(
        kind="good" if found.outcome in Outcome.given() else "error" if later else "attention",
        outcome=str(found.outcome.label),
        explanation=str(_EXPLANATIONS.get(found.outcome, "")),
        trouble=quoted_error(row.last_error) if row is not None and unavailable else "",
        stop_url=_stop_url(model_admin, request, row) if found.outcome == Outcome.UNKNOWN else "",
        link=url,
        link_text=link_text,
    )
