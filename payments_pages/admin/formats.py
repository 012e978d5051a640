"""Render references, money, times and stored JSON for cells and read-only fields."""

import json
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.choices import Mode
from payments_pages.conf import conf
from payments_pages.models import PaymentPage, Transaction
from payments_pages.money import format_amount

__all__ = [
    "format_sentence",
    "format_time",
    "ltr",
    "mode_name",
    "money",
    "page_name",
    "paid_of",
    "pretty",
    "price_of",
    "quoted",
]


def mode_name(value: object) -> str:
    """Return "test" or "live" in the reader's language; any other value verbatim."""
    text = str(value)
    return str(dict(Mode.choices).get(text, text))


def ltr(text: str) -> SafeString:
    """Mark a reference, figure or date as left to right, for right-to-left languages."""
    return (
        format_html('<bdi dir="ltr" class="pp-nowrap">{}</bdi>', text) if text else SafeString("")
    )


def money(amount: int | None, currency: str) -> SafeString:
    """Format an amount of minor units as people write it."""
    return ltr(format_amount(amount, currency, conf.exponents))


def format_time(value: Any) -> SafeString:
    """Format a time as 2026-11-27 21:05 with its zone, the same in every language."""
    if value is None:
        return SafeString("")
    try:
        local = timezone.localtime(value)
    except OverflowError:
        local = value  # the last hours of year 9999, which the service may send: shown in UTC
    return ltr(f"{local:%Y-%m-%d %H:%M} {local.tzname()}")


def pretty(value: Any) -> SafeString:
    """Format stored JSON with indentation, escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return format_html('<pre class="pp-json" dir="ltr">{}</pre>', text)


def format_sentence(sentence: str, **parts: object) -> SafeString:
    """Fill in a translated sentence; parts that are not `SafeString` are escaped."""
    return format_html(sentence, **parts)


def quoted(text: str) -> SafeString:
    """Quote a text of a person or another program, in its own writing direction."""
    return format_html('<q class="pp-own" dir="auto">{}</q>', text) if text else SafeString("–")


def page_name(page: PaymentPage) -> SafeString:
    """Return a page's name with its price."""
    price = money(page.amount, page.currency) or _("the payer chooses")
    return format_html('<bdi dir="auto">{}</bdi> ({})', page.name, price)


def price_of(transaction: Transaction) -> tuple[int | None, str] | None:
    """Return the price (minor units, or None if the payer chooses) and the currency.

    None if the payment is not attributed. An expected payment takes precedence over its page, as
    in the policy.
    """
    source = transaction.expected_payment or transaction.page
    return (source.amount, source.currency) if source else None


def paid_of(transaction: Transaction) -> SafeString:
    """Format the amount paid; an unreadable amount is quoted verbatim."""
    if transaction.amount is not None:
        return money(transaction.amount, transaction.currency)
    came = transaction.unreadable.get("amount", "")
    return format_sentence(_("unreadable: {text}"), text=quoted(str(came)))
