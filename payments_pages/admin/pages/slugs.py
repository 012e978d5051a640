"""The input of a slug: it shows the page's public URL, and whether the slug is free."""

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from payments_pages.admin.readonly import PagesAdminMixin
from payments_pages.client import get_client
from payments_pages.conf import conf
from payments_pages.db import outside_transactions
from payments_pages.exceptions import PageError, PaymentsPagesError
from payments_pages.models import PaymentPage
from payments_pages.pages import MAX_SLUG, check_slug_text, slug_key

__all__ = ["SlugCheckAdminMixin", "SlugInput", "availability"]

URL_NAME = "payments_pages_paymentpage_slug"


class SlugInput(forms.TextInput):
    """A text input with the public URL below it, which a script updates while staff type.

    The script makes a slug of a Latin name until staff type one. It also requests `check_url` to check the slug. If `check_url` is blank, it does not.
    """

    template_name = "admin/payments_pages/paymentpage/slug.html"
    check_url = ""

    class Media:
        js = (forms.Script("payments_pages/slug.js", defer=True),)

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        context["pay_url"] = conf.pay_url
        context["check_url"] = self.check_url
        context["name_input"] = "id_name"
        context["suggested_input"] = f"initial-{name}"
        return context


class SlugCheckAdminMixin(PagesAdminMixin):
    """The view that checks whether a slug is free."""

    def get_urls(self) -> list[URLPattern]:
        view = outside_transactions(self.admin_site.admin_view(self.slug_view))
        return [path("slug/", view, name=URL_NAME), *super().get_urls()]

    def slug_view(self, request: HttpRequest) -> HttpResponse:
        """Return JSON: `{"state": "free" | "taken" | "invalid" | "unknown", "text": …}`."""
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET"])
        if not self.has_add_permission(request):
            raise PermissionDenied
        # One character more than the longest slug is enough to refuse the text.
        state, text = availability(request.GET.get("slug", "")[: MAX_SLUG + 1])
        return JsonResponse({"state": state, "text": text})


def availability(slug: str) -> tuple[str, str]:
    """Return the state of a slug, which a script reads, and a sentence for the reader.

    The service is not asked about a slug that is not safe in a path, or that a page here has.
    """
    try:
        slug = check_slug_text(slug)
    except PageError as error:
        return "invalid", str(error)
    try:
        rows = PaymentPage.objects.filter(slug_key=slug_key(slug))
        if rows.confirmed().filter(missing_since__isnull=True).exists():
            return "taken", _("You already have a page with this slug.")
        is_free = get_client().check_slug(slug)
    except PaymentsPagesError:
        return "unknown", _("It cannot be checked right now. It will be checked when you save.")
    if is_free:
        return "free", _("This slug is free.")
    if rows.filter(remote_id__isnull=True).exists():
        return "free", _("The service has a page with this slug that you began: save to adopt it.")
    return "taken", _("This slug is taken. Choose another one.")
