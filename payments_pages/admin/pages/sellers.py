"""Let staff say who sells a page: this site, or another one on the same account."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin.errors import explain
from payments_pages.admin.pages.bulk_actions import BulkActions, Job
from payments_pages.db import outside_transactions
from payments_pages.exceptions import PaymentsPagesError
from payments_pages.models import PaymentPage
from payments_pages.pages import forget_seller, sell_elsewhere, sell_here

__all__ = ["SellerChoices"]

URL_NAME = "payments_pages_paymentpage_seller"

_HERE = gettext_lazy("This site sells it.")
_ELSEWHERE = gettext_lazy("Another site sells it.")
_UNSAID = gettext_lazy("Its redirect address tells who sells it.")
_CHOICES: Final[Mapping[str, tuple[Callable[[PaymentPage], PaymentPage], Any]]] = {
    "here": (sell_here, _HERE),
    "elsewhere": (sell_elsewhere, _ELSEWHERE),
    "unsaid": (forget_seller, _UNSAID),
}


class SellerChoices(BulkActions):
    """Say it of one page, or of many."""

    def get_urls(self) -> list[URLPattern]:
        """Add the choice."""
        view = outside_transactions(self.admin_site.admin_view(self.seller_view))
        return [path("<int:pk>/seller/", view, name=URL_NAME), *super().get_urls()]

    def seller_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Note what `seller` says: `here`, `elsewhere` or `unsaid`; any other word does nothing."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        page: PaymentPage | None = PaymentPage.objects.primary().filter(pk=pk).first()
        if not self.has_change_permission(request, page):
            raise PermissionDenied
        if page is None:
            return HttpResponseRedirect(self.list_url())
        chosen = _CHOICES.get(request.POST.get("seller", ""))
        if chosen is not None:
            self._say(request, page, *chosen)
        return HttpResponseRedirect(self.change_url(page))

    def _say(
        self,
        request: HttpRequest,
        page: PaymentPage,
        say: Callable[[PaymentPage], PaymentPage],
        text: Any,
    ) -> None:
        try:
            say(page)
        except (PaymentsPagesError, DatabaseError) as error:
            self.message_user(request, explain(error), messages.ERROR)
        else:
            self.log_change(request, page, str(text))
            self.message_user(request, text, messages.SUCCESS)

    def seller_context(self, page: PaymentPage, *, may_change: bool) -> dict[str, Any]:
        """Give the change form its buttons, where there is something to say or to take back."""
        asked = may_change and (bool(page.seller) or not page.sold_here)
        return {"seller_url": self.reverse(URL_NAME, page.pk) if asked else "", "page": page}

    @admin.action(description=gettext_lazy("Sold by this site…"), permissions=["change"])
    def say_sold_here(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """Say of many pages that this site sells them."""
        job = Job(
            action="say_sold_here",
            title=_("Sold by this site"),
            question=_(
                "What is paid on these pages is delivered by this site. If another site delivers "
                "it too, payers get it twice."
            ),
            done=str(_HERE),
            do=sell_here,
        )
        return self._run(request, queryset, job)

    @admin.action(description=gettext_lazy("Sold by another site…"), permissions=["change"])
    def say_sold_elsewhere(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        """Say of many pages that another site sells them."""
        job = Job(
            action="say_sold_elsewhere",
            title=_("Sold by another site"),
            question=_("What is paid on these pages from now on is not delivered by this site."),
            done=str(_ELSEWHERE),
            do=sell_elsewhere,
        )
        return self._run(request, queryset, job)
