"""Decide whether to accept, hold or wait for a verified transaction.

Pure functions: they take facts and an expectation, return a decision, and use no database, network
or settings. The order of the rules counts; a test has them as a table.
"""

from dataclasses import dataclass
from datetime import datetime

from payments_pages.choices import Reason, Verdict

__all__ = [
    "FINAL_FAILURES",
    "POLICY_REASONS",
    "QUIET_REASONS",
    "Decision",
    "Expectation",
    "Facts",
    "Offer",
    "decide",
    "fits",
]

FINAL_FAILURES = frozenset({"failed", "abandoned", "reversed"})
"""Statuses that the payer sees as "not paid" (docs/service.md, only seen). None of them is final:
the payer may pay a minute later under the same reference."""

POLICY_REASONS = frozenset(
    {
        Reason.NOT_SUCCESS,
        Reason.MODE_MISMATCH,
        Reason.UNATTRIBUTED,
        Reason.PAGE_NOT_ON_SALE,
        Reason.OTHER_SITE,
        Reason.CURRENCY_MISMATCH,
        Reason.AMOUNT_INVALID,
        Reason.AMOUNT_MISMATCH,
        Reason.ATTRIBUTION_CONFLICT,
        Reason.DUPLICATE_PAYMENT,
        Reason.TAKEN_BACK,
    }
)
"""Reasons of holds that this module makes, or decides about anew, and may end if the facts change."""

QUIET_REASONS = frozenset({Reason.OTHER_SITE})
"""Reasons of holds that may need no decision of staff, because another site delivers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The part of the service's answer that counts for a decision.

    `amount` is in minor units; None if it could not be read. `paid_at` is None if the service did
    not say when it was paid.
    """

    status: str
    domain: str
    amount: int | None
    currency: str
    paid_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The state of the page that is paid for.

    - `domain`: its mode; "" if the service never said it. It is then the mode of our secret key.
    - `confirmed`: the service has given it a number.
    - `withdrawn`: the times since when it is off sale, one for each cause (switched off; missing at
      the service); None in place of a time that is not known. Empty if it is on sale.
    - `sold_here`: this site sells it, not another site on the same account.
    """

    domain: str
    confirmed: bool = True
    withdrawn: tuple[datetime | None, ...] = ()
    sold_here: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What must have been paid.

    - `amount`: in minor units; None if the payer chooses it.
    - `offer`: the page that is paid for, if it is a page.
    - `conflict`: two sources name different things.
    - `paid_by_other`: another transaction was already accepted for the same expected payment.
    """

    amount: int | None
    currency: str
    offer: Offer | None = None
    conflict: bool = False
    paid_by_other: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict and, if it is to wait or to hold, its reason. `overpaid`: more than the price."""

    verdict: Verdict
    reason: Reason = Reason.NONE
    overpaid: bool = False


def decide(facts: Facts, expectation: Expectation | None, mode: str) -> Decision:
    """Accept, wait or hold. Only the exact text `success` is a success (docs/service.md: Verify 1).

    A payment of less than the price is held. One of more is accepted and marked as overpaid,
    because the amount includes fees that the payer bears (docs/service.md, only seen; docs/cases.md
    C05).
    """
    if facts.status != "success":
        return Decision(verdict=Verdict.WAIT, reason=Reason.NOT_SUCCESS)
    reason = _objection(facts, expectation, mode)
    if reason is not Reason.NONE:
        return Decision(verdict=Verdict.HOLD, reason=reason)
    price = expectation.amount if expectation else None
    overpaid = price is not None and facts.amount is not None and facts.amount > price
    return Decision(verdict=Verdict.ACCEPT, overpaid=overpaid)


def fits(facts: Facts, expectation: Expectation) -> bool:
    """Say whether currency and amount are those expected; the other rules are left out."""
    return _money_objection(facts, expectation) is Reason.NONE


def _objection(facts: Facts, expectation: Expectation | None, mode: str) -> Reason:  # noqa: PLR0911 - one return per rule
    if facts.domain != mode:
        return Reason.MODE_MISMATCH
    if expectation is None:
        return Reason.UNATTRIBUTED
    offer = expectation.offer
    if offer is not None and not _was_on_sale(offer, facts.paid_at, mode):
        return Reason.PAGE_NOT_ON_SALE
    if offer is not None and not offer.sold_here:
        return Reason.OTHER_SITE
    reason = _money_objection(facts, expectation)
    if reason is not Reason.NONE:
        return reason
    if expectation.conflict:
        return Reason.ATTRIBUTION_CONFLICT
    if expectation.paid_by_other:
        return Reason.DUPLICATE_PAYMENT
    return Reason.NONE


def _was_on_sale(offer: Offer, paid_at: datetime | None, mode: str) -> bool:
    """Say whether the page was on sale when it was paid; False if that is not known."""
    if not offer.confirmed or offer.domain not in {"", mode}:
        return False
    return all(
        paid_at is not None and since is not None and paid_at < since for since in offer.withdrawn
    )


def _money_objection(facts: Facts, expectation: Expectation) -> Reason:
    if not facts.currency or _folded(facts.currency) != _folded(expectation.currency):
        return Reason.CURRENCY_MISMATCH
    if type(facts.amount) is not int or facts.amount <= 0:
        return Reason.AMOUNT_INVALID
    if expectation.amount is not None and facts.amount < expectation.amount:
        return Reason.AMOUNT_MISMATCH
    return Reason.NONE


def _folded(currency: str) -> str:
    """Return the code in upper case; only ASCII letters count: "ıls" is not "ILS"."""
    return currency.upper() if currency.isascii() else currency
