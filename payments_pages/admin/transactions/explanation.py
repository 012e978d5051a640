"""Explain the state of a payment, and what staff can do about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.html import format_html
from django.utils.translation import gettext as _

from payments_pages.admin.formats import (
    format_sentence,
    format_time,
    ltr,
    mode_name,
    money,
    price_of,
    quoted,
    quoted_error,
)
from payments_pages.admin.transactions.holds import advice_of, facts_of
from payments_pages.choices import FulfilmentState, VerificationState
from payments_pages.conf import conf
from payments_pages.confirmation import is_quiet
from payments_pages.models import Fulfilment, Transaction, Verification
from payments_pages.staff import is_of_other_mode, may_reopen

__all__ = ["Explanation", "explain_payment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A heading, sentences that explain, and sentences that say what staff can do.

    `kind` is "good", "waiting", "attention" or "ended", as in `statuses`.
    """

    kind: str
    heading: str
    sentences: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


def explain_payment(transaction: Transaction, verification: Verification | None) -> Explanation:
    """Explain a mirrored payment. `verification`, its row of the inbox, says when we ask again."""
    fulfilment: Fulfilment | None = getattr(transaction, "fulfilment", None)
    if fulfilment is None:
        return _unpaid(transaction, verification)
    if fulfilment.state == FulfilmentState.HELD:
        return _held(transaction, fulfilment, verification)
    if fulfilment.state in FulfilmentState.open() and is_of_other_mode(fulfilment):
        return _left(transaction)
    build = _STATES.get(fulfilment.state)
    if build is None:
        return Explanation(kind="waiting", heading=str(fulfilment.get_state_display()))
    return build(transaction, fulfilment)


def _unpaid(transaction: Transaction, verification: Verification | None) -> Explanation:
    said = format_sentence(_("The service says “{status}”. Nothing is delivered for that."),
                  status=ltr(transaction.status))  # fmt: skip
    asked = _next_ask(verification)
    if transaction.status == "reversed":
        return Explanation(
            kind="ended",
            heading=_("The money went back to the payer"),
            sentences=(said,),
            advice=(_("There is nothing to do here."),),
        )
    if transaction.status in {"failed", "abandoned"}:
        return Explanation(
            kind="ended",
            heading=_("Not paid"),
            sentences=(said, asked),
            advice=(
                _(
                    "The payer may still pay under the same reference. "
                    "If they say they have, ask the service again."
                ),
            ),
        )
    return Explanation(
        kind="waiting",
        heading=_("Not paid yet"),
        sentences=(said, asked),
        advice=(_("There is nothing to do but wait, or ask the service again now."),),
    )


def _next_ask(verification: Verification | None) -> str:
    if verification is None:
        return ""
    if verification.state == VerificationState.LAPSED:
        return _("After three days we no longer ask automatically.")
    if verification.state == VerificationState.ENDED:
        return _(
            "Staff have stopped the checks. They start again when the reference comes in again."
        )
    if verification.next_at is None:
        return ""
    return format_sentence(
        _("We ask again automatically, next at {time}."), time=format_time(verification.next_at)
    )


def _left(transaction: Transaction) -> Explanation:
    left = format_sentence(
        _("It is a payment in {mode} mode; this site takes {ours} payments now."),
        mode=mode_name(transaction.domain) or "–",
        ours=mode_name(conf.mode_or_blank) or "–",
    )
    return Explanation(
        kind="attention",
        heading=_("Paid, left in the other mode"),
        sentences=(left, _("Nothing is delivered until MODE is switched back.")),
        advice=(_("Ask an administrator to switch MODE back, or reject it."),),
    )


def _pending(_transaction: Transaction, _fulfilment: Fulfilment) -> Explanation:
    return Explanation(
        kind="waiting",
        heading=_("Paid, about to be delivered"),
        sentences=(
            _("The payment is accepted. A worker or the next sweep delivers it within moments."),
        ),
        advice=(_("If it stays like this, no sweep is running: tell the site’s administrator."),),
    )


def _delivering(_transaction: Transaction, fulfilment: Fulfilment) -> Explanation:
    lease = format_sentence(
        _("Attempt {number} is under way. If it does not end by {time}, another one takes over."),
        number=fulfilment.attempts,
        time=format_time(fulfilment.next_at),
    )
    return Explanation(kind="waiting", heading=_("Being delivered"), sentences=(lease,))


def _delivered(transaction: Transaction, fulfilment: Fulfilment) -> Explanation:
    sentences: list[str] = [
        format_sentence(
            _("Delivered at {time}. It will not be delivered again."),
            time=format_time(fulfilment.delivered_at),
        )
    ]
    if fulfilment.decided_by:
        sentences.append(
            format_sentence(
                _("{person} approved it: {note}"),
                person=_person(fulfilment),
                note=quoted(fulfilment.note),
            )
        )
    if fulfilment.overpaid:
        sentences.append(_overpaid(transaction))
    if transaction.status == "success" and fulfilment.money_back_unseen:
        return _disputed(fulfilment, sentences)
    if transaction.status == "success":
        return Explanation(kind="good", heading=_("Delivered"), sentences=tuple(sentences))
    sentences.append(
        format_sentence(
            _(
                "Since then the service says “{status}”. What was delivered is not taken back automatically."
            ),
            status=ltr(transaction.status),
        )
    )
    unseen = fulfilment.money_back_unseen
    advice = _("Decide with the payer whether the value must be returned. Then mark it as seen.")
    return Explanation(
        kind="attention" if unseen else "ended",
        heading=_("Delivered, but no longer paid"),
        sentences=tuple(sentences),
        advice=(advice,) if unseen else (),
    )


def _disputed(fulfilment: Fulfilment, sentences: list[str]) -> Explanation:
    told = format_sentence(
        _(
            "The service told of a refund or a dispute at {time}. It still calls the payment a "
            "success: only a part of the money may have gone back."
        ),
        time=format_time(fulfilment.money_back_at),
    )
    return Explanation(
        kind="attention",
        heading=_("Delivered, then refunded or disputed"),
        sentences=(*sentences, told),
        advice=(
            _(
                "Look the payment up at the service, and decide whether the value must be returned. "
                "Then mark it as seen."
            ),
        ),
    )


def _overpaid(transaction: Transaction) -> str:
    price = price_of(transaction)
    if price is None or price[0] is None or transaction.amount is None:
        return _("More than the price was paid.")
    return format_sentence(
        _(
            "Paid {paid}, which is {more} more than the price: fees passed on to the payer, perhaps."
        ),
        paid=money(transaction.amount, transaction.currency),
        more=money(transaction.amount - price[0], transaction.currency),
    )


def _failed(_transaction: Transaction, fulfilment: Fulfilment) -> Explanation:
    tries = format_sentence(
        _("Attempt {number} of {most} failed: {error}"),
        number=fulfilment.attempts,
        most=conf.max_attempts,
        error=quoted_error(fulfilment.last_error),
    )
    again = format_sentence(
        _("It is retried automatically at {time}."), time=format_time(fulfilment.next_at)
    )
    return Explanation(
        kind="attention",
        heading=_("Paid, the delivery fails"),
        sentences=(tries, again),
        advice=(_("Fix the cause. Then wait, or try again now."),),
    )


def _rejected(transaction: Transaction, fulfilment: Fulfilment) -> Explanation:
    by = format_sentence(
        _("{person} rejected it: {note}"),
        person=_person(fulfilment),
        note=quoted(fulfilment.note),
    )
    return Explanation(
        kind="ended",
        heading=_("Paid, rejected by staff"),
        sentences=(by, _("Nothing was delivered, and nothing will be.")),
        advice=(
            _("Rejecting does not refund the payer: refund the payment at the service."),
            *(
                (_("If it was a mistake, take the rejection back."),)
                if may_reopen(transaction)
                else ()
            ),
        ),
    )


_STATES: Final[Mapping[str, Callable[[Transaction, Fulfilment], Explanation]]] = {
    FulfilmentState.PENDING: _pending,
    FulfilmentState.DELIVERING: _delivering,
    FulfilmentState.DELIVERED: _delivered,
    FulfilmentState.FAILED: _failed,
    FulfilmentState.REJECTED: _rejected,
}


def _held(
    transaction: Transaction, fulfilment: Fulfilment, verification: Verification | None
) -> Explanation:
    quiet = is_quiet(fulfilment)
    heading = (
        _("Paid, not to this site: %(reason)s") if quiet else _("Paid, held for staff: %(reason)s")
    )
    return Explanation(
        kind="ended" if quiet else "attention",
        heading=heading % {"reason": fulfilment.get_reason_display()},
        sentences=(facts_of(transaction, fulfilment, verification),),
        advice=advice_of(transaction, fulfilment),
    )


def _person(fulfilment: Fulfilment) -> str:
    return format_html("<bdi>{}</bdi>", fulfilment.decided_by)
