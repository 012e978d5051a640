"""Render what cells and read-only fields show: references, money, times, kept JSON."""

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
    "ltr",
    "mode_name",
    "moment",
    "money",
    "own_words",
    "page_name",
    "paid_of",
    "pretty",
    "price_of",
    "words",
]


def mode_name(value: object) -> str:
    """Say test or live in the reader's language; another value is shown as it came."""
    text = str(value)
    return str(dict(Mode.choices).get(text, text))


def ltr(text: str) -> SafeString:
    """Keep a reference, figure or date left to right in right-to-left text."""
    return (
        format_html('<bdi dir="ltr" class="pp-nowrap">{}</bdi>', text) if text else SafeString("")
    )


def money(amount: int | None, currency: str) -> SafeString:
    """Show an amount of minor units as people write it."""
    return ltr(format_amount(amount, currency, conf.exponents))


def moment(value: Any) -> SafeString:
    """Show a time as 2026-11-27 21:05 with its zone, the same in every language."""
    if value is None:
        return SafeString("")
    try:
        local = timezone.localtime(value)
    except OverflowError:
        local = value  # the calendar's last hours, which the service may name: shown in UTC
    return ltr(f"{local:%Y-%m-%d %H:%M} {local.tzname()}")


def pretty(value: Any) -> SafeString:
    """Show kept JSON readably and escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return format_html('<pre class="pp-json" dir="ltr">{}</pre>', text)


def words(sentence: str, **parts: object) -> SafeString:
    """Fill a translated sentence; what is not safe already is escaped (docs/cases.md C51)."""
    return format_html(sentence, **parts)


def own_words(text: str) -> SafeString:
    """Set off what a person or another program wrote, whichever direction it runs in."""
    return format_html('<q class="pp-own" dir="auto">{}</q>', text) if text else SafeString("–")


def page_name(page: PaymentPage) -> SafeString:
    """Name a page by its title and its price."""
    price = money(page.amount, page.currency) or _("the payer chooses")
    return format_html('<bdi dir="auto">{}</bdi> ({})', page.name, price)


def price_of(transaction: Transaction) -> tuple[int | None, str] | None:
    """Return what had to be paid: minor units, None where the payer chooses, and the currency.

    None when nothing says what it is for. An expected payment goes before its page, as in the
    policy.
    """
    source = transaction.expected_payment or transaction.page
    return (source.amount, source.currency) if source else None


def paid_of(transaction: Transaction) -> SafeString:
    """Show what was paid; what could not be read, as it came."""
    if transaction.amount is not None:
        return money(transaction.amount, transaction.currency)
    came = transaction.unreadable.get("amount", "")
    return words(_("unreadable: {text}"), text=own_words(str(came)))
