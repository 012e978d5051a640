"""Write down what staff say of who sells a page: this site, or another one on the same account."""

from django.utils.translation import gettext as _

from payments_pages.exceptions import PageError
from payments_pages.models import ELSEWHERE, PaymentPage, primary_alias, this_site

__all__ = ["forget_seller", "sell_elsewhere", "sell_here"]


def sell_here(page: PaymentPage) -> PaymentPage:
    """Note that this site sells a page, wherever its redirect address leads.

    The word counts for this `SITE_URL` alone, so that a copy of the database gives nothing by it;
    raise `PageError` while there is none. The next sweep decides again about what was held.
    """
    site = this_site()
    if not site:
        raise PageError(_("Set SITE_URL first: what you say counts for the site of that name."))
    return _say(page, site)


def sell_elsewhere(page: PaymentPage) -> PaymentPage:
    """Note that another site sells a page: what is paid on it from now on is not delivered here."""
    return _say(page, ELSEWHERE)


def forget_seller(page: PaymentPage) -> PaymentPage:
    """Take back what was said; its redirect address tells again who sells it."""
    return _say(page, "")


def _say(page: PaymentPage, seller: str) -> PaymentPage:
    page.seller = seller
    page.save(using=primary_alias(PaymentPage), update_fields=["seller"])
    return page
