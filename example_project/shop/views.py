"""Show what is for sale and what a signed-in buyer has bought."""

from typing import Any

from django.contrib.auth.mixins import LoginRequiredMixin
from django.views.generic import ListView

from example_project.shop.models import Licence, Offer
from payments_pages.conf import conf
from payments_pages.money import format_amount
from payments_pages.pages import public_url

__all__ = ["Purchases", "Storefront"]


class Storefront(ListView):  # type: ignore[type-arg]  # generic for mypy only
    """List what can be bought now; a link leads to the hosted page, where one pays."""

    template_name = "shop/storefront.html"
    context_object_name = "offers"

    def get_queryset(self) -> Any:
        """Return the offers whose page the service sells: active, and not missing there."""
        return (
            Offer.objects.filter(
                page__active=True, page__remote_id__isnull=False, page__missing_since__isnull=True
            )
            .select_related("page")
            .order_by("pk")
        )

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Add each offer's price as text (blank: the payer chooses) and public address."""
        context = super().get_context_data(**context)
        for offer in context["offers"]:
            offer.price = format_amount(offer.page.amount, offer.page.currency, conf.exponents)
            offer.address = public_url(offer.page)
        return context


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
