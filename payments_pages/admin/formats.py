"""Render references, money, times and stored JSON for cells and read-only fields."""

import json
from typing import Any

from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.amounts import figure_text
from payments_pages.choices import Mode
from payments_pages.conf import conf
from payments_pages.models import PaymentPage, Transaction
from payments_pages.money import fold_currency, format_amount
from payments_pages.staff import ErrorSentence, find_sentence, split_class

__all__ = [
    "SHORT_REFERENCE",
    "clamped",
    "error_sentence",
    "format_sentence",
    "format_time",
    "format_time_in_parts",
    "ltr",
    "mode_name",
    "money",
    "page_name",
    "paid_of",
    "pretty",
    "price_of",
    "quoted",
    "quoted_error",
    "short_reference",
    "zone_place",
]

SHORT_REFERENCE = 12
"""Characters of a reference that a list shows; a longer one is shortened in the middle."""


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
    """Return an amount of minor units as HTML, left to right in every language."""
    code = fold_currency(currency)
    if amount is None or code in conf.exponents:
        return ltr(format_amount(amount, code, conf.exponents))
    return format_html("{} ({})", ltr(figure_text(amount, code)), _("in smallest units"))


def format_time(value: Any) -> SafeString:
    """Format a time as 2026-11-27 21:05 with its zone, the same in every language."""
    if value is None:
        return SafeString("")
    try:
        local = timezone.localtime(value)
    except OverflowError:
        local = value  # the last hours of year 9999, which the service may send: shown in UTC
    return ltr(f"{local:%Y-%m-%d %H:%M} {local.tzname()}")


def format_time_in_parts(value: Any, *, zone: bool = False) -> SafeString:
    """Format a time for a column: it may break after the day.

    Without the `zone`, the header of the column names it.
    """
    try:
        local = timezone.localtime(value)
    except OverflowError:
        return format_time(value)
    parts = f"{local:%Y-%m-%d}", f"{local:%H:%M} {local.tzname() if zone else ''}".rstrip()
    return format_html(
        '<bdi dir="ltr"><span class="pp-nowrap">{}</span> <span class="pp-nowrap">{}</span></bdi>',
        *parts,
    )


def zone_place() -> str:
    """Return the place of the reader's time zone, the same in summer and winter: `Hebron`.

    In the reader's language if it is a place near our merchants, otherwise as the zone has it.
    """
    place = timezone.get_current_timezone_name().rpartition("/")[2].replace("_", " ")
    near = {
        "Amman": _("Amman"),
        "Gaza": _("Gaza"),
        "Hebron": _("Hebron"),
        "Jerusalem": _("Jerusalem"),
    }
    return near.get(place, place)


def clamped(text: str, *, direction: str = "auto") -> SafeString:
    """Show one line of a text of any length: CSS cuts what the column has no room for."""
    if not text:
        return SafeString("–")
    return format_html('<bdi dir="{0}" class="pp-clamp" title="{1}">{1}</bdi>', direction, text)


def short_reference(reference: str) -> SafeString:
    """Show a reference shortened in the middle; whole in its title and for the copy button."""
    shown = reference
    if len(reference) > SHORT_REFERENCE:
        shown = f"{reference[: SHORT_REFERENCE // 2]}…{reference[-(SHORT_REFERENCE // 2 - 1) :]}"
    return format_html(
        '<span class="pp-copy" data-copy="{0}" data-name="{0}">'
        '<bdi dir="ltr" class="pp-nowrap" title="{0}">{1}</bdi></span>',
        reference,
        shown,
    )


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


def quoted_error(text: str) -> SafeString:
    """Show a stored error without the name of its class, which the timeline has.

    A sentence of ours is in the reader's language, and only what others wrote in it is quoted.
    """
    _class, told = split_class(text)
    return error_sentence(told) or quoted(told)


def error_sentence(text: str) -> SafeString:
    """Return a sentence of our own errors in the reader's language; blank if it is not ours.

    What others wrote in it, a name or a path, keeps its own writing direction.
    """
    sentence = find_sentence(text)
    return SafeString("") if sentence is None else _as_html(sentence)


def _as_html(sentence: ErrorSentence) -> SafeString:
    parts = {name: _part_as_html(part) for name, part in sentence.parts.items()}
    # Escaped are the words and each part; the places of the parts have nothing to escape.
    words = conditional_escape(_(sentence.english))
    return SafeString(words % parts if parts else words)


def _part_as_html(part: str | ErrorSentence) -> SafeString:
    if isinstance(part, ErrorSentence):
        return _as_html(part)
    # A figure reads the same way in every language.
    return format_html("{}" if part.isdigit() else '<bdi dir="auto">{}</bdi>', part)


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
