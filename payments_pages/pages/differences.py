"""Say in words what the service made of a request otherwise than it was asked."""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from payments_pages.client import MAX_LENGTHS, clean_text
from payments_pages.conf import conf
from payments_pages.models import PaymentPage
from payments_pages.money import format_amount
from payments_pages.pages.links import public_url

__all__ = ["as_mirrored", "describe_differences", "may_be_cut", "note_differences"]

_SHOWN: Final = 200
"""Characters of a text that a sentence quotes."""


def note_differences(page: PaymentPage, asked: Mapping[str, Any]) -> None:
    """Keep in `page.differences` which fields of a page are not as was `asked`, by field."""
    page.differences = tuple(
        (name, value, getattr(page, name))
        for name, value in asked.items()
        if getattr(page, name) != as_mirrored(name, value)
    )


def as_mirrored(name: str, value: Any) -> Any:
    """Return a value as the mirror would keep it: a text that is too long is cut there."""
    return clean_text(value)[: MAX_LENGTHS[name]] if isinstance(value, str) else value


def may_be_cut(name: str, value: Any) -> bool:
    """Tell whether a mirrored value is a text that the service may have longer."""
    return isinstance(value, str) and len(value) >= MAX_LENGTHS[name]


def describe_differences(page: PaymentPage) -> str:
    """Name both values of each difference, and the page's address; "" where there is none.

    The text is not escaped.
    """
    if not page.differences:
        return ""
    sentences = [
        _("You asked for the %(field)s “%(asked)s”; the service has “%(there)s”.")
        % {
            "field": _label(name),
            "asked": _value(page, name, asked),
            "there": _value(page, name, there),
        }
        for name, asked, there in page.differences
    ]
    sentences.append(_("Payers find the page at %(address)s") % {"address": public_url(page)})
    return " ".join(sentences)


def _label(name: str) -> str:
    labels = {
        "name": _("name"),
        "description": _("description"),
        "slug": _("slug"),
        "amount": _("amount"),
        "active": _("active"),
    }
    return labels[name]


def _value(page: PaymentPage, name: str, value: Any) -> str:
    if name == "amount":
        if value is None:
            return _("payer chooses")
        return format_amount(value, page.currency, conf.exponents)
    if name == "active":
        return _("yes") if value else _("no")
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
