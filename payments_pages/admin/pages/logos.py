"""A page's logo: a URL in its metadata, and the image that payers see there."""

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.core.validators import URLValidator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from payments_pages.admin.pages.formats import address
from payments_pages.client import read_metadata
from payments_pages.models import PaymentPage

__all__ = ["LOGO", "LogoField", "LogoInput", "logo_of", "show_logo"]

LOGO = "logo_url"
"""The key of a page's metadata that has the URL of its logo.

The key is our decision: the interface names none.
"""


class LogoInput(forms.URLInput):
    """An input of a URL; a script shows the image below it."""

    template_name = "admin/payments_pages/paymentpage/logo.html"

    class Media:
        js = (forms.Script("payments_pages/logo.js", defer=True),)


class LogoField(forms.URLField):
    """The URL of an image. It begins with https://: on a secure page browsers show no other."""

    widget = LogoInput
    default_validators = [URLValidator(schemes=["https"])]
    default_error_messages = {
        "invalid": gettext_lazy("Enter an address that begins with https://."),
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(assume_scheme="https", **kwargs)


def logo_of(page: PaymentPage) -> str:
    """Return the URL of a page's logo; "" if it has none."""
    url = read_metadata(page.metadata).get(LOGO)
    return url if isinstance(url, str) else ""


def show_logo(page: PaymentPage) -> SafeString:
    """Return the logo as a small image, with its URL.

    Only an image at an https URL is loaded. The image's server does not learn the admin's address.
    """
    url = logo_of(page)
    if not url:
        return address(read_metadata(page.metadata).get(LOGO))
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        scheme = ""
    if scheme not in {"http", "https"}:
        return address(url)
    link = format_html(
        '<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>', url, address(url)
    )
    if scheme == "http":
        warning = _("Browsers may not show it: its address does not begin with https://.")
        return format_html('{} <span class="pp-warning">{}</span>', link, warning)
    image = '<img class="pp-logo" src="{}" alt="{}" loading="lazy" referrerpolicy="no-referrer"> {}'
    return format_html(image, url, _("Logo"), link)
