"""Render what cells and read-only fields show: references, money, times, kept JSON."""

import json
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from payments_pages.choices import Mode
from payments_pages.conf import conf
from payments_pages.money import format_amount

__all__ = ["ltr", "mode_name", "moment", "money", "pretty"]


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
