"""Build the two addresses of a page: where payers find it, and where they come back to."""

from urllib.parse import quote, urlsplit

from django.conf import settings
from django.urls import get_script_prefix, reverse
from django.utils.translation import get_language_from_path, override

from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.pages.origins import return_origin

__all__ = ["callback_url", "is_same_callback", "public_url", "slug_url"]


def public_url(page: PaymentPage) -> str:
    """Return the address where a payer finds the page (docs/service.md: `{pay_url}/<slug>`)."""
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
    with override(settings.LANGUAGE_CODE):
        path = reverse("payments_pages:page-callback", args=[page.token])
    return return_origin(site_url) + path


def is_same_callback(one: str, other: str) -> bool:
    """Tell whether two addresses lead to one callback, whatever language is in their paths.

    With `i18n_patterns` the callback is found in every language, and an older page may have been
    made in any.
    """
    return _without_language(one) == _without_language(other) is not None


def _without_language(address: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    path = parts.path.removeprefix(get_script_prefix()).strip("/")
    if get_language_from_path(f"/{path}/"):
        path = path.partition("/")[2]
    return f"{parts.scheme}://{parts.netloc}", path
