"""Show what is for sale, take orders, and show what a signed-in buyer has bought."""

import json
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.templatetags.static import static
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from django.views.generic import DetailView, ListView

from example_project.shop.cards import cards_of, pay_with_card, remembered
from example_project.shop.models import Licence, Offer, Order
from example_project.shop.orders import place_order
from example_project.shop.popup import content_policy, popup_settings
from payments_pages.conf import conf
from payments_pages.exceptions import UnusableCardKeys
from payments_pages.models import SavedCard, Transaction
from payments_pages.money import format_amount
from payments_pages.pages import public_url

__all__ = [
    "OrderPage",
    "Purchase",
    "Purchases",
    "Storefront",
    "buy",
    "charge",
    "forget_card",
    "hide_note",
    "icon",
    "next_url",
]

NOTE_COOKIE = "shop_note"
"""The cookie of a browser in which the demo's note was hidden."""


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
        """Add each offer's price as text (blank: the payer chooses) and public address.

        In a demo whose note was not hidden, also the sandbox's address.
        """
        context = super().get_context_data(**context)
        sandbox_url = getattr(settings, "SHOP_SANDBOX_URL", "")
        if NOTE_COOKIE not in self.request.COOKIES:
            context["sandbox_url"] = sandbox_url
        for offer in context["offers"]:
            offer.price = format_amount(offer.page.amount, offer.page.currency, conf.exponents)
            offer.address = public_url(offer.page)
            if sandbox_url:
                # The sandbox understands this; what a service understands is not known.
                offer.address += f"?lang={get_language()}"
            offer.is_ordered = offer.popup and offer.page.amount is not None
        return context


def icon(_request: HttpRequest) -> HttpResponse:
    """Lead to the shop's icon."""
    return redirect(static("shop/icon.svg"))


@require_POST
def hide_note(_request: HttpRequest) -> HttpResponse:
    """Hide the demo's note in this browser, for a year."""
    response = redirect("storefront")
    response.set_cookie(NOTE_COOKIE, "hidden", max_age=365 * 24 * 3600, httponly=True)
    return response


@require_POST
def buy(request: HttpRequest, offer: int) -> HttpResponse:
    """Place an order for an offer that is sold in a popup, and show it; 404 for any other."""
    found = for_sale().filter(popup=True, page__amount__isnull=False)
    context = remembered(request.user, saves_card="save_card" in request.POST)
    order = place_order(get_object_or_404(found, pk=offer), context=context)
    return redirect("order", token=order.token)


@require_POST
@login_required
def charge(request: HttpRequest, token: UUID) -> HttpResponse:
    """Pay an order by a saved card of the buyer's own, and show what came of it."""
    order = get_object_or_404(Order.objects.select_related("expected"), token=token)
    card = get_object_or_404(cards_of(request.user), pk=_number(request.POST.get("card")))
    try:
        payment = pay_with_card(order, card).transaction
    except UnusableCardKeys:  # before anything was sent to the service
        messages.warning(request, _("This card cannot be used any more. Pay with another card."))
        return redirect("order", token=token)
    if payment is not None:
        return redirect(conf.result_view, token=payment.token)
    messages.warning(
        request, _("We cannot confirm the payment right now. Do not pay again: look here later.")
    )
    return redirect("order", token=token)


@require_POST
@login_required
def forget_card(request: HttpRequest) -> HttpResponse:
    """Forget one saved card of the buyer's own; one that is gone is forgotten."""
    SavedCard.objects.of(request.user).filter(pk=_number(request.POST.get("card"))).delete()
    return redirect("purchases")


def _number(text: str | None) -> int:
    """Return a primary key as a form sends it; 0, which no row has, for anything else."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 19 else 0


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
                # So a payer who pays once more, under another reference, still pays this order.
                "metadata": json.dumps({"payments_pages_expected": expected.reference}),
            },
            "result_url": self._result_url(),
            "cards": cards_of(self.request.user),
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


def next_url(payment: Transaction) -> str:
    """Return where a payer goes on to: what was bought, or the shop while nothing was given."""
    if Licence.objects.filter(fulfilment__transaction=payment).exists():
        return reverse("purchase", kwargs={"token": payment.token})
    return reverse("storefront")


@method_decorator(never_cache, name="dispatch")
class Purchase(DetailView):  # type: ignore[type-arg]  # generic for mypy only
    """What was bought by one payment, for whoever knows the token of its result page.

    Nobody can guess the token, and only the payer was sent to it: no sign-in is needed.
    """

    template_name = "shop/purchase.html"
    context_object_name = "licence"

    def get_object(self, queryset: Any = None) -> Licence:  # noqa: ARG002 - Django's signature
        """Return the licence; 404 if nothing was given for that payment."""
        licences = Licence.objects.select_related("offer__page", "fulfilment__transaction")
        token = self.kwargs["token"]
        return get_object_or_404(licences, fulfilment__transaction__token=token)

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Add the paid amount as text."""
        paid = self.object.fulfilment.transaction
        self.object.paid = format_amount(paid.amount, paid.currency, conf.exponents)
        return super().get_context_data(**context)


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
        context["cards"] = cards_of(self.request.user)
        return context
