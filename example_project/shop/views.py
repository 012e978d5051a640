"""Show what is for sale, take orders, and show what a signed-in buyer has bought."""

from typing import Any

from django.contrib.auth.mixins import LoginRequiredMixin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from django.views.generic import DetailView, ListView

from example_project.shop.models import Licence, Offer, Order
from example_project.shop.orders import place_order
from example_project.shop.popup import content_policy, popup_settings
from payments_pages.conf import conf
from payments_pages.money import format_amount
from payments_pages.pages import public_url

__all__ = ["OrderPage", "Purchases", "Storefront", "buy"]


def for_sale() -> "QuerySet[Offer]":
    """Return the offers whose page the service sells: active, and not missing there."""
    return Offer.objects.filter(
        page__active=True, page__remote_id__isnull=False, page__missing_since__isnull=True
    ).select_related("page")


class Storefront(ListView):  # type: ignore[type-arg]  # generic for mypy only
    """List what can be bought now: on a hosted page, or by an order that is paid in a popup."""

    template_name = "shop/storefront.html"
    context_object_name = "offers"

    def get_queryset(self) -> Any:
        """Return what is for sale, oldest first."""
        return for_sale().order_by("pk")

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Add each offer's price as text (blank: the payer chooses) and public address."""
        context = super().get_context_data(**context)
        for offer in context["offers"]:
            offer.price = format_amount(offer.page.amount, offer.page.currency, conf.exponents)
            offer.address = public_url(offer.page)
            offer.is_ordered = offer.popup and offer.page.amount is not None
        return context


@require_POST
def buy(request: HttpRequest, offer: int) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """Place an order for an offer that is sold in a popup, and show it; 404 for any other."""
    found = for_sale().filter(popup=True, page__amount__isnull=False)
    order = place_order(get_object_or_404(found, pk=offer))
    return redirect("order", token=order.token)


@method_decorator(never_cache, name="dispatch")
class OrderPage(DetailView):  # type: ignore[type-arg]  # generic for mypy only
    """Show an order, with what is needed to pay it; say so when it is paid.

    The form is what a browser without scripts sends to the service; the script opens the popup
    with the very same fields.
    """

    template_name = "shop/order.html"
    context_object_name = "order"
    slug_field = slug_url_kwarg = "token"

    def get_queryset(self) -> Any:
        """Return the orders with all that the page shows."""
        return Order.objects.select_related("offer__page", "expected")

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Add the price as text, the form's fields, and the result's address once it is paid."""
        context = super().get_context_data(**context)
        expected, popup = self.object.expected, popup_settings()
        callback = self.request.build_absolute_uri(reverse("payments_pages:callback"))
        return {
            **context,
            "price": format_amount(expected.amount, expected.currency, conf.exponents),
            "popup": popup,
            "fields": {
                "key": popup["PUBLIC_KEY"],
                "reference": expected.reference,
                "amount": expected.amount,
                "currency": expected.currency,
                "callback_url": callback,
            },
            "result_url": self._result_url(),
        }

    def _result_url(self) -> str:
        licence = Licence.objects.filter(order=self.object).first()
        if licence is None:
            return ""
        return reverse(conf.result_view, kwargs={"token": licence.fulfilment.transaction.token})

    def render_to_response(self, context: dict[str, Any], **more: Any) -> HttpResponse:
        """Allow the service what its popup needs, and nobody anything else."""
        response = super().render_to_response(context, **more)
        response.headers["Content-Security-Policy"] = content_policy(popup_settings())
        return response


class Purchases(LoginRequiredMixin, ListView):  # type: ignore[type-arg]  # generic for mypy only
    """List licences: a buyer's own by e-mail address, all of them for staff.

    The shop has no sign-up: staff make accounts, so an account's address is known to be its
    owner's. A shop with a sign-up must prove the address first.
    """

    template_name = "shop/purchases.html"
    context_object_name = "licences"
    paginate_by = 50

    def get_queryset(self) -> Any:
        """Return the licences this user may see, newest first; none for a blank address."""
        licences = Licence.objects.select_related("offer__page", "fulfilment__transaction")
        user = self.request.user
        if user.is_staff:
            return licences
        address = getattr(user, "email", "").strip().lower()
        if not address:
            return licences.none()
        # MariaDB and MySQL take josé@ for jose@: what they find is compared here once more.
        found = licences.filter(email__iexact=address)
        return [licence for licence in found if licence.email.lower() == address]

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Add each licence's paid amount as text, and whether the list is everybody's."""
        context = super().get_context_data(**context)
        for licence in context["licences"]:
            paid = licence.fulfilment.transaction
            licence.paid = format_amount(paid.amount, paid.currency, conf.exponents)
        context["shows_all"] = self.request.user.is_staff
        return context
