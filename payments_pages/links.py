"""Build the two addresses of a page: where payers find it, and where they come back to."""

from urllib.parse import quote

from django.conf import settings
from django.urls import reverse
from django.utils.translation import override

from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.origins import return_origin

__all__ = ["callback_url", "callback_urls", "public_url", "slug_url"]


def public_url(page: PaymentPage) -> str:
    """Return the address where a payer finds the page (interface: `{pay_url}/<slug>`)."""
    return slug_url(page.slug)


def slug_url(slug: str) -> str:
    """Return the public address that a slug leads to."""
    return f"{conf.pay_url}/{quote(slug, safe='')}"


def callback_url(page: PaymentPage, site_url: str = "") -> str:
    """Return the address at this site to which the page's payers are to come back.

    `site_url`, the origin of a request, is used when `SITE_URL` is not set. Raise `PageError` for
    an origin that payers may not reach. The address can never be changed, so it is the same
    whatever language is active: with `i18n_patterns`, that of `LANGUAGE_CODE`.
    """
    return callback_urls(page, site_url)[0]


def callback_urls(page: PaymentPage, site_url: str = "") -> list[str]:
    """Return all addresses that lead to the page's callback, that of `callback_url` first.

    With `i18n_patterns` there is one for each language, and an older page may have any of them.
    """
    origin = return_origin(site_url)
    found: dict[str, None] = {}
    for code in (settings.LANGUAGE_CODE, *(code for code, _name in settings.LANGUAGES)):
        with override(code):
            found[origin + reverse("payments_pages:page-callback", args=[page.token])] = None
    return list(found)
