"""The buttons and actions by which staff say who sells a page: this site, or another one."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from payments_pages.admin.pages.bulk_actions import BulkActionsAdminMixin, Job
from payments_pages.admin.pages.buttons import ButtonsAdminMixin
from payments_pages.models import PaymentPage
from payments_pages.pages import forget_seller, sell_elsewhere, sell_here

__all__ = ["SellerAdminMixin"]

URL_NAME = "payments_pages_paymentpage_seller"

_HERE = gettext_lazy("This site sells it.")
_ELSEWHERE = gettext_lazy("Another site sells it.")
_UNSAID = gettext_lazy("Its redirect address tells who sells it.")
_LOG_HERE: Final = gettext_noop("seller (this site)")
_LOG_ELSEWHERE: Final = gettext_noop("seller (another site)")
_LOG_UNSAID: Final = gettext_noop("seller (the redirect address tells)")
_CHOICES: Final[Mapping[str, tuple[Callable[[PaymentPage], PaymentPage], Any, str]]] = {
    "here": (sell_here, _HERE, _LOG_HERE),
    "elsewhere": (sell_elsewhere, _ELSEWHERE, _LOG_ELSEWHERE),
    "unsaid": (forget_seller, _UNSAID, _LOG_UNSAID),
}


class SellerAdminMixin(BulkActionsAdminMixin, ButtonsAdminMixin):
    """The choice of a page's seller: buttons for one page, actions for many."""

    def get_urls(self) -> list[URLPattern]:
        return [self.button_path("seller", URL_NAME, self._set_seller), *super().get_urls()]

    def _set_seller(self, request: HttpRequest, page: PaymentPage) -> None:
        """Record the `seller` of the request: `here`, `elsewhere` or `unsaid`.

        Any other value changes nothing.
        """
        chosen = _CHOICES.get(request.POST.get("seller", ""))
        if chosen is not None:
            self.change_and_tell(request, page, *chosen)

    def seller_context(self, page: PaymentPage, *, may_change: bool) -> dict[str, Any]:
        """Return the context of the buttons above the form.

        There are none if this site sells the page and nobody said so.
        """
        has_buttons = may_change and (bool(page.seller) or not page.sold_here)
        return {"seller_url": self.reverse(URL_NAME, page.pk) if has_buttons else "", "page": page}

    @admin.action(description=gettext_lazy("Sold by this site…"), permissions=["change"])
    def say_sold_here(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        job = Job(
            action="say_sold_here",
            title=_("Sold by this site"),
            question=_(
                "What is paid on these pages is delivered by this site. If another site delivers "
                "it too, payers get it twice."
            ),
            done=str(_HERE),
            log=_LOG_HERE,
            change_page=sell_here,
        )
        return self._run(request, queryset, job)

    @admin.action(description=gettext_lazy("Sold by another site…"), permissions=["change"])
    def say_sold_elsewhere(
        self, request: HttpRequest, queryset: QuerySet[PaymentPage]
    ) -> HttpResponse | None:
        job = Job(
            action="say_sold_elsewhere",
            title=_("Sold by another site"),
            question=_("What is paid on these pages from now on is not delivered by this site."),
            done=str(_ELSEWHERE),
            log=_LOG_ELSEWHERE,
            change_page=sell_elsewhere,
        )
        return self._run(request, queryset, job)
