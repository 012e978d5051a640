"""A page's URL, price and state as HTML. Words say everything; colours only repeat it."""

from collections.abc import Iterator
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.formats import format_sentence, mode_name, money, pretty
from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.pages import public_url

__all__ = [
    "address",
    "badges",
    "field_label",
    "field_value",
    "is_of_other_mode",
    "is_payable",
    "link",
    "other_metadata",
    "other_metadata_of",
    "price",
    "what_payers_see",
]

CALLBACK_KEY = "payments_pages_token"
"""The key of a page's metadata that has the token of its callback."""


def link(page: PaymentPage, text: str) -> SafeString:
    """Return a link to the page that payers see; a script adds a button that copies its URL.

    A page that nobody can pay on has no such button: its address is not to be passed on.
    """
    url = public_url(page)
    anchor = format_html(
        '<a href="{}" target="_blank" rel="noopener noreferrer"><bdi dir="ltr">{}</bdi>'
        '<span class="pp-out" aria-hidden="true">↗</span>'
        '<span class="pp-unseen"> {}</span></a>',
        url,
        text,
        _("(opens in a new tab)"),
    )
    if not is_payable(page):
        return anchor
    return format_html(
        '<span class="pp-copy" data-copy="{}" data-name="{}">{}</span>', url, page.name, anchor
    )


def is_payable(page: PaymentPage) -> bool:
    """Return whether payers find the page at its address."""
    return page.active and page.remote_id is not None and page.missing_since is None


def what_payers_see(page: PaymentPage) -> SafeString:
    """Return a sentence for who has just made a page: its price, and its address to be copied."""
    shown = link(page, public_url(page))
    if page.amount is None:
        return format_sentence(_("Payers choose the amount themselves at {address}"), address=shown)
    return format_sentence(
        _("Payers pay {price} at {address}"),
        price=price(page.amount, page.currency),
        address=shown,
    )


def price(amount: int | None, currency: str) -> SafeString | str:
    """Return a price, or that the payer chooses it; `amount` is in minor units."""
    return _("payer chooses") if amount is None else money(amount, currency)


def badges(page: PaymentPage) -> SafeString:
    """Return badges: whether the page is on sale, and each thing that is unusual about it."""
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
    """Return whether a page belongs to the other mode; False if this site's mode is unknown."""
    mode = conf.mode_or_blank
    return bool(page.domain and mode) and page.domain != mode


def field_label(name: str) -> str:
    """Return the label of a field, the same as in the form."""
    labels = {
        "name": _("name"),
        "description": _("description"),
        "amount": _("amount"),
        "active": _("active"),
        "redirect_url": _("redirect address"),
    }
    return labels[name]


def field_value(page: PaymentPage, name: str, value: Any) -> SafeString | str:
    """Return a field's value as HTML; an `amount` is in minor units of the page's currency."""
    if name == "amount":
        return price(value if type(value) is int else None, page.currency)
    if name == "active":
        return _("yes") if value else _("no")
    if name == "redirect_url":
        return address(value)
    return format_html('<span dir="auto" class="pp-text">{}</span>', value or "–")


def address(value: object) -> SafeString:
    """Return a URL as text: nobody is to follow it, or to take it for the page's own address."""
    text = value if isinstance(value, str) else ""
    if not text:
        return SafeString("–")
    return format_html('<bdi dir="ltr" class="pp-address">{}</bdi>', text)


def other_metadata(page: PaymentPage, shown: str) -> SafeString:
    """Return the page's metadata as HTML, without the key `shown` and the callback token."""
    value = other_metadata_of(page)
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key != shown}
    return pretty(value) if value else SafeString("–")


def other_metadata_of(page: PaymentPage) -> Any:
    """Return the page's metadata without the callback token; it may be any JSON."""
    value = page.metadata
    return (
        {k: v for k, v in value.items() if k != CALLBACK_KEY} if isinstance(value, dict) else value
    )
