"""A status as a word with a symbol before it: never by colour alone (WCAG 1.4.1)."""

from collections.abc import Mapping
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from payments_pages.choices import FulfilmentState, Reason
from payments_pages.confirmation import is_quiet
from payments_pages.models import Fulfilment, Transaction

__all__ = ["delivery_status", "payment_and_delivery", "payment_status", "payment_word"]

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

_REASONS: Final[Mapping[str, object]] = {
    Reason.NOT_SUCCESS: _("not a success"),
    Reason.MODE_MISMATCH: _("other mode"),
    Reason.UNATTRIBUTED: _("no page"),
    Reason.PAGE_NOT_ON_SALE: _("page not on sale"),
    Reason.CURRENCY_MISMATCH: _("other currency"),
    Reason.AMOUNT_INVALID: _("amount unreadable"),
    Reason.AMOUNT_MISMATCH: _("paid less"),
    Reason.ATTRIBUTION_CONFLICT: _("two claims"),
    Reason.DUPLICATE_PAYMENT: _("paid before"),
    Reason.ATTEMPTS_SPENT: _("failed too often"),
    Reason.PERMANENT_ERROR: _("cannot succeed"),
    Reason.TAKEN_BACK: _("rejection taken back"),
}
"""The reasons of a hold in two or three words, below its state; the whole one is the title."""


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


def payment_and_delivery(transaction: Transaction) -> SafeString:
    """Render both states in one cell, and the reason below; the delivery alone where it is done."""
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is None:
        return payment_status(transaction)
    delivery = delivery_status(transaction)
    if fulfilment.state == FulfilmentState.DELIVERED and transaction.status == "success":
        return delivery
    states = format_html("{} {}", payment_status(transaction), delivery)
    reason = _REASONS.get(fulfilment.reason)
    if reason is None:
        return states
    return format_html(
        '{} <span class="pp-reason" title="{}">{}</span>',
        states,
        fulfilment.get_reason_display(),
        reason,
    )


def _cell(kind: str, shape: str, word: object) -> SafeString:
    return format_html(
        '<span class="pp-status pp-{}"><span aria-hidden="true" class="pp-shape">{}</span> '
        '<bdi class="pp-word">{}</bdi></span>',
        kind,
        shape,
        word,
    )
