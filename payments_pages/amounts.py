"""Amounts as people read them, in their language and by the decimals that the settings give."""

from django.utils.translation import gettext as _

from payments_pages.conf import conf
from payments_pages.money import NO_BREAK_SPACE, fold_currency, format_amount

__all__ = ["amount_text", "figure_text"]


def amount_text(amount: int | None, currency: str) -> str:
    """Return an amount of minor units as text: `1,234.50 ILS`, with its thousands grouped.

    An amount in a currency whose decimals are not known is said to be in smallest units.
    """
    code = fold_currency(currency)
    if amount is None or code in conf.exponents:
        return format_amount(amount, code, conf.exponents)
    return f"{figure_text(amount, code)} ({_('in smallest units')})"


def figure_text(amount: int, code: str) -> str:
    """Return a figure with its currency and without decimals; they are not known."""
    return f"{amount:,}{NO_BREAK_SPACE}{code}".rstrip(NO_BREAK_SPACE)
