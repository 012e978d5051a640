"""A status as a word with a symbol before it: never by colour alone (WCAG 1.4.1)."""

from collections.abc import Mapping
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from payments_pages.choices import FulfilmentState
from payments_pages.confirmation import is_quiet
from payments_pages.models import Transaction

__all__ = ["delivery_status", "payment_status", "payment_word"]

GOOD, WAITING, ATTENTION, ENDED = "good", "waiting", "attention", "ended"

_PAYMENT: Final[Mapping[str, tuple[str, str, object]]] = {
    "success": (GOOD, "✓", _("success")),
    "failed": (ENDED, "✗", _("failed")),
    "abandoned": (ENDED, "✗", _("abandoned")),
    "reversed": (ATTENTION, "↩", _("reversed")),
    "pending": (WAITING, "…", _("pending")),
    "ongoing": (WAITING, "…", _("ongoing")),
    "processing": (WAITING, "…", _("processing")),
    "queued": (WAITING, "…", _("queued")),
}
"""Statuses that the service is known to send; any other is shown verbatim."""

_DELIVERY: Final[Mapping[str, tuple[str, str, object]]] = {
    FulfilmentState.PENDING: (WAITING, "…", _("to be delivered")),
    FulfilmentState.DELIVERING: (WAITING, "…", _("under way")),
    FulfilmentState.DELIVERED: (GOOD, "✓", _("delivered")),
    FulfilmentState.FAILED: (ATTENTION, "↻", _("failing")),
    FulfilmentState.HELD: (ATTENTION, "!", _("held")),
    FulfilmentState.REJECTED: (ENDED, "✗", _("rejected")),
}
"""The states in one or two words, so that the list's six columns fit."""


def payment_word(status: str) -> str:
    """Return the service's status in the reader's language; an unknown status verbatim."""
    known = _PAYMENT.get(status)
    return status if known is None else str(known[2])


def payment_status(transaction: Transaction) -> SafeString:
    """Render the service's status of the payment; an unknown status verbatim."""
    kind, shape, word = _PAYMENT.get(transaction.status, (WAITING, "?", transaction.status))
    return _cell(kind, shape, word)


def delivery_status(transaction: Transaction) -> SafeString:
    """Render the state of the delivery; a dash if there is none."""
    fulfilment = getattr(transaction, "fulfilment", None)
    if fulfilment is None:
        return SafeString("–")
    if fulfilment.state == FulfilmentState.HELD and is_quiet(fulfilment):
        return _cell(ENDED, "⇄", _("another site’s"))
    return _cell(*_DELIVERY.get(fulfilment.state, (WAITING, "?", fulfilment.state)))


def _cell(kind: str, shape: str, word: object) -> SafeString:
    return format_html(
        '<span class="pp-status pp-{}"><span aria-hidden="true" class="pp-shape">{}</span> '
        '<bdi class="pp-word">{}</bdi></span>',
        kind,
        shape,
        word,
    )
