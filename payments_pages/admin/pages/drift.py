"""Show what was changed at the service behind our back, and let staff decide which one stands."""

import json
from typing import Any, NamedTuple

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.errors import explain
from payments_pages.admin.pages.formats import field_label, field_value
from payments_pages.admin.readonly import PagesPart
from payments_pages.db import outside_transactions
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import PaymentPage
from payments_pages.pages import DRIFTING, keep_remote, send_local_back, sendable
from payments_pages.references import text_key

__all__ = ["Drift", "DriftChoices", "describe_drift"]

URL_NAME = "payments_pages_paymentpage_drift"


class DriftRow(NamedTuple):
    """Show one field: as it was set here, and as the service has it."""

    label: str
    before: SafeString | str
    now: SafeString | str


class Drift(NamedTuple):
    """Show all that drifted; `seen` stands for exactly this, `stuck` cannot be sent back."""

    rows: list[DriftRow]
    seen: str
    can_send: bool
    stuck: list[str]


def describe_drift(page: PaymentPage) -> Drift | None:
    """Return the table that staff decide by; None if the page is as it was set here."""
    fields = [name for name in DRIFTING if name in page.drift]
    if not fields:
        return None
    can_be_sent = sendable(page)
    return Drift(
        rows=[
            DriftRow(
                field_label(name),
                field_value(page, name, page.drift[name]),
                field_value(page, name, getattr(page, name)),
            )
            for name in fields
        ],
        seen=_seen(page, fields),
        can_send=bool(can_be_sent),
        stuck=[_stuck(name) for name in fields if name not in can_be_sent],
    )


def _stuck(name: str) -> str:
    """Say what to do about a field that the service lets nobody set again."""
    if name == "redirect_url":
        return _(
            "A redirect address cannot be sent back: the service takes it only with a new page. "
            "Make a new page, or change it in the service’s own dashboard."
        )
    if name != "amount":
        return _(
            "A text as long as this one may not be whole here, so it cannot be sent back. Change "
            "it in the service’s own dashboard."
        )
    return _(
        "That the payer chooses the amount cannot be sent back: the service has no way to take a "
        "price off a page. Make a new page."
    )


def _seen(page: PaymentPage, fields: list[str]) -> str:
    """Return a digest of what is shown: a decision is about nothing else."""
    shown = {name: [page.drift[name], getattr(page, name)] for name in fields}
    return text_key(str(page.pk), json.dumps(shown, sort_keys=True))[:16]


class DriftChoices(PagesPart):
    """Carry out what staff decide about a page's drift."""

    def get_urls(self) -> list[URLPattern]:
        """Add the decision."""
        view = outside_transactions(self.admin_site.admin_view(self.drift_view))
        return [path("<int:pk>/drift/", view, name=URL_NAME), *super().get_urls()]

    def drift_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Keep the service's version, or send ours back, if it is still as it was shown."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        page: PaymentPage | None = PaymentPage.objects.primary().filter(pk=pk).first()
        if not self.has_change_permission(request, page):
            raise PermissionDenied
        if page is None:
            return HttpResponseRedirect(self.list_url())
        shown = describe_drift(page)
        if shown is None or shown.seen != request.POST.get("seen"):
            text = _(
                "The page changed again meanwhile, and nothing was done. Look at it once more."
            )
            self.message_user(request, text, messages.WARNING)
        else:
            self._decide(request, page, send="send" in request.POST)
        return HttpResponseRedirect(self.change_url(page))

    def _decide(self, request: HttpRequest, page: PaymentPage, *, send: bool) -> None:
        text = _("Sent ours back to the service.") if send else _("Kept what the service has.")
        try:
            (send_local_back if send else keep_remote)(page)
        except (PaymentsPagesError, DatabaseError) as error:
            self.message_user(request, explain(error), messages.ERROR)
        else:
            self.log_change(request, page, text)
            self.message_user(request, text, messages.SUCCESS)

    def drift_context(self, page: PaymentPage, *, may_change: bool) -> dict[str, Any]:
        """Give the change form what it shows above itself."""
        return {
            "drift": describe_drift(page),
            "drift_url": self.reverse(URL_NAME, page.pk) if may_change else "",
        }
