"""The differences between the values sent to the service and those it has, as sentences."""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from payments_pages.amounts import amount_text
from payments_pages.client import MAX_LENGTHS, clean_text
from payments_pages.models import PaymentPage
from payments_pages.pages.links import public_url

__all__ = ["describe_differences", "may_be_truncated", "mirrored_value", "record_differences"]

_SHOWN: Final = 200
"""The most characters of a text that a sentence quotes."""


def record_differences(page: PaymentPage, requested: Mapping[str, Any]) -> None:
    """Set `page.differences`: (field, requested value, mirrored value) of each that differs."""
    page.differences = tuple(
        (name, value, getattr(page, name))
        for name, value in requested.items()
        if getattr(page, name) != mirrored_value(name, value)
    )


def mirrored_value(name: str, value: Any) -> Any:
    """Return a value as the mirror has it: a text is cleaned, and truncated to its column."""
    return clean_text(value)[: MAX_LENGTHS[name]] if isinstance(value, str) else value


def may_be_truncated(name: str, value: Any) -> bool:
    """Return whether a mirrored value is a text as long as its column, perhaps truncated."""
    return isinstance(value, str) and len(value) >= MAX_LENGTHS[name]


def describe_differences(page: PaymentPage) -> str:
    """Return a sentence for each difference, and the page's address; "" if there is none.

    The text is not escaped.
    """
    if not page.differences:
        return ""
    sentences = [
        _("You asked for the %(field)s “%(asked)s”; the service has “%(there)s”.")
        % {
            "field": _label(name),
            "asked": _value(page, name, requested),
            "there": _value(page, name, remote),
        }
        for name, requested, remote in page.differences
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
        return amount_text(value, page.currency)
    if name == "active":
        return _("yes") if value else _("no")
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
