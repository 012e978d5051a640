"""Set who sells a page, as staff say: this site, or another site on the same account."""

from django.utils.translation import gettext as _

from payments_pages.exceptions import PageError
from payments_pages.models import ELSEWHERE, PaymentPage, primary_alias, this_site

__all__ = ["forget_seller", "sell_elsewhere", "sell_here"]


def sell_here(page: PaymentPage) -> PaymentPage:
    """Record that this site sells a page, whatever its redirect address is.

    The row names this site's `SITE_URL`, so that a copy of the database under another `SITE_URL`
    delivers nothing. Raise `PageError` if `SITE_URL` is not set. The next sweep decides again
    about the page's payments that were not delivered.
    """
    site = this_site()
    if not site:
        raise PageError(_("Set SITE_URL first: what you say counts for the site of that name."))
    return _set_seller(page, site)


def sell_elsewhere(page: PaymentPage) -> PaymentPage:
    """Record that another site sells a page: this site does not deliver its later payments."""
    return _set_seller(page, ELSEWHERE)


def forget_seller(page: PaymentPage) -> PaymentPage:
    """Remove what staff said: the page's redirect address decides again who sells it."""
    return _set_seller(page, "")


def _set_seller(page: PaymentPage, seller: str) -> PaymentPage:
    page.seller = seller
    page.save(using=primary_alias(PaymentPage), update_fields=["seller"])
    return page
