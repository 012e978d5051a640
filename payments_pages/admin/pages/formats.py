"""Show what a page is: its address, price and state, each with words, never by colour alone."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.formats import mode_name, money, pretty
from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.pages import public_url

__all__ = [
    "badges",
    "field_label",
    "field_value",
    "is_of_other_mode",
    "link",
    "other_metadata",
    "price",
    "web_address",
]

OURS = "payments_pages_token"


def link(page: PaymentPage, text: str) -> SafeString:
    """Link to the page as payers see it; a script adds a button that copies the address."""
    return format_html(
        '<span class="pp-copy" data-copy="{url}" data-name="{name}">'
        '<a href="{url}" target="_blank" rel="noopener noreferrer">'
        '<bdi dir="ltr">{text}</bdi></a></span>',
        url=public_url(page),
        name=page.name,
        text=text,
    )


def price(amount: int | None, currency: str) -> SafeString | str:
    """Show a price, or that the payer chooses."""
    return _("payer chooses") if amount is None else money(amount, currency)


def badges(page: PaymentPage) -> SafeString:
    """Show whether the page is on sale, and all that is odd about it."""
    return format_html_join(
        " ",
        '<span class="pp-badge pp-badge-{}"><span aria-hidden="true">{}</span> {}</span>',
        _badges(page),
    )


def _badges(page: PaymentPage) -> Iterator[tuple[str, str, str]]:
    if page.remote_id is None:
        yield "warning", "?", _("not confirmed by the service")
    elif page.missing_since is not None:
        yield "bad", "✗", _("missing at the service")
    elif page.active:
        yield "good", "✓", _("active")
    else:
        yield "off", "○", _("inactive")
    if page.drift:
        yield "warning", "Δ", _("changed at the service")
    if not page.sold_here:
        yield "off", "⇄", _("of another site")
    if is_of_other_mode(page):
        yield "warning", "!", _("of the other mode: %(mode)s") % {"mode": mode_name(page.domain)}
    elif page.domain == "test":
        yield "test", "◇", mode_name(page.domain)


def is_of_other_mode(page: PaymentPage) -> bool:
    """Say whether this site cannot serve a page for its mode; not while nobody can tell ours."""
    ours = conf.mode_or_blank
    return bool(page.domain and ours) and page.domain != ours


def field_label(name: str) -> str:
    """Name a field as the form does."""
    labels = {
        "name": _("name"),
        "description": _("description"),
        "amount": _("amount"),
        "active": _("active"),
        "redirect_url": _("redirect address"),
    }
    return labels[name]


def field_value(page: PaymentPage, name: str, value: Any) -> SafeString | str:
    """Show one version of a field's value, as people read it."""
    if name == "amount":
        return price(value if type(value) is int else None, page.currency)
    if name == "active":
        return _("yes") if value else _("no")
    if name == "redirect_url":
        return web_address(value)
    return format_html('<span dir="auto" class="pp-text">{}</span>', value or "–")


def web_address(value: object) -> SafeString:
    """Link to an address of the web; any other is shown as text, and leads nowhere."""
    text = value if isinstance(value, str) else ""
    if not text:
        return SafeString("–")
    try:
        scheme = urlsplit(text).scheme
    except ValueError:
        scheme = ""
    if scheme not in {"http", "https"}:
        return format_html('<bdi dir="ltr">{}</bdi>', text)
    return format_html(
        '<a href="{0}" target="_blank" rel="noopener noreferrer nofollow">'
        '<bdi dir="ltr" class="pp-address">{0}</bdi></a>',
        text,
    )


def other_metadata(page: PaymentPage, shown: str) -> SafeString:
    """Show the page's metadata, save what has a place of its own: the key `shown`, and ours."""
    value = page.metadata
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key not in {shown, OURS}}
    return pretty(value) if value else SafeString("–")
