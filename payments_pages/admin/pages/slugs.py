"""Let staff choose a slug: see the address it makes, and whether it is free, while typing."""

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from payments_pages.admin.readonly import PagesPart
from payments_pages.client import get_client
from payments_pages.conf import conf
from payments_pages.db import outside_transactions
from payments_pages.exceptions import PageError, PaymentsPagesError
from payments_pages.models import PaymentPage
from payments_pages.pages import MAX_SLUG, check_slug_text, slug_key

__all__ = ["SlugCheck", "SlugInput", "availability"]

URL_NAME = "payments_pages_paymentpage_slug"


class SlugInput(forms.TextInput):
    """Show the public address below the input; a script keeps it up to date and asks about it.

    `check_url` is the address to ask; blank: the script asks nothing.
    """

    template_name = "admin/payments_pages/paymentpage/slug.html"
    check_url = ""

    class Media:
        js = (forms.Script("payments_pages/slug.js", defer=True),)

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Add where pages are served, and what the script needs."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        context["pay_url"] = conf.pay_url
        context["check_url"] = self.check_url
        return context


class SlugCheck(PagesPart):
    """Answer whether a slug is free."""

    def get_urls(self) -> list[URLPattern]:
        """Add the question."""
        view = outside_transactions(self.admin_site.admin_view(self.slug_view))
        return [path("slug/", view, name=URL_NAME), *super().get_urls()]

    def slug_view(self, request: HttpRequest) -> HttpResponse:
        """Answer `{"state": "free" | "taken" | "invalid" | "unknown", "text": …}`."""
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET"])
        if not self.has_add_permission(request):
            raise PermissionDenied
        # Longer than any slug: it is refused as such, not read in full.
        state, text = availability(request.GET.get("slug", "")[: MAX_SLUG + 1])
        return JsonResponse({"state": state, "text": text})


def availability(slug: str) -> tuple[str, str]:
    """Say whether a slug is free, with a sentence for the reader; the word is for a script.

    Nothing is asked about a slug that no path can carry, or that one of our pages has.
    """
    try:
        slug = check_slug_text(slug)
    except PageError as error:
        return "invalid", str(error)
    try:
        ours = PaymentPage.objects.filter(slug_key=slug_key(slug))
        if ours.confirmed().filter(missing_since__isnull=True).exists():
            return "taken", _("You already have a page with this slug.")
        free = get_client().check_slug(slug)
    except PaymentsPagesError:
        return "unknown", _("It cannot be checked right now. It will be checked when you save.")
    if free:
        return "free", _("This slug is free.")
    if ours.filter(remote_id__isnull=True).exists():
        return "free", _("The service has a page with this slug that you began: save to adopt it.")
    return "taken", _("This slug is taken. Choose another one.")
