"""The frame of the buttons above a page's form: each changes the page, and leads back to it."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path

from payments_pages.admin.errors import explain
from payments_pages.admin.history import changed
from payments_pages.admin.readonly import PagesAdminMixin
from payments_pages.db import outside_transactions
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import PaymentPage

__all__ = ["ButtonsAdminMixin"]

Decide = Callable[[HttpRequest, PaymentPage], None]
"""A function that does what the request's POST data say, and tells staff."""


class ButtonsAdminMixin(PagesAdminMixin):
    """The views of buttons about one page, and the words about what they did."""

    def button_path(self, route: str, name: str, decide: Decide) -> URLPattern:
        """Return the URL of the buttons of one kind: `<page>/<route>/`."""

        def view(request: HttpRequest, pk: int) -> HttpResponse:
            return self._decide_about(request, pk, decide)

        own = outside_transactions(self.admin_site.admin_view(view))
        return path(f"<int:pk>/{route}/", own, name=name)

    def _decide_about(self, request: HttpRequest, pk: int, decide: Decide) -> HttpResponse:
        """Let `decide` act (POST only); 403 without the permission to change the page."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        page: PaymentPage | None = PaymentPage.objects.primary().filter(pk=pk).first()
        if not self.has_change_permission(request, page):
            raise PermissionDenied
        if page is None:
            return HttpResponseRedirect(self.list_url())
        decide(request, page)
        return HttpResponseRedirect(self.change_url(page))

    def change_and_tell(
        self,
        request: HttpRequest,
        page: PaymentPage,
        change: Callable[[PaymentPage], PaymentPage],
        text: Any,
        log: str,
    ) -> None:
        """Change the page and show `text`; or show what went wrong.

        `log` is the name of the change in the page's history, marked for translation.
        """
        try:
            change(page)
        except (PaymentsPagesError, DatabaseError) as error:
            self.message_user(request, explain(error), messages.ERROR)
        else:
            self.log_change(request, page, changed(log))
            self.message_user(request, text, messages.SUCCESS)
