"""Decide, purely, what a verified transaction deserves.

No database, no network, no settings: facts and an expectation in, a decision out. The rules
and their order are this module's whole content; a test holds them as a table.
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
"""Statuses shown to the payer as not paid (docs/service.md, only seen). None is final: a payment may be made
a minute later under the same reference."""

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
    }
)
"""Holds that this module makes, hence may lift when the facts change."""

QUIET_REASONS = frozenset({Reason.OTHER_SITE})
"""Holds that may wait for nobody, because another site delivers what was paid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """State what the service said. `amount` is minor units, None when it could not be read.

    `paid_at` is None when the service did not say when it was paid.
    """

    status: str
    domain: str
    amount: int | None
    currency: str
    paid_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """State how the page stands that is paid for.

    `domain` is its mode; "" where the service never said it, which our key then vouches for.
    `confirmed`: the service has given it a number. `withdrawn` has one entry for each way in
    which it is off sale now (switched off; gone from the service): since when, or None where
    that is not known. `sold_here`: by this site, and not by another one on the same account.
    """

    domain: str
    confirmed: bool = True
    withdrawn: tuple[datetime | None, ...] = ()
    sold_here: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """State what must have been paid. `amount` None: the payer chose it.

    `offer` is the page it is paid for, if it is one. `conflict` says that two sources name different things; `paid_by_other` that another
    transaction has already been accepted for the same expected payment.
    """

    amount: int | None
    currency: str
    offer: Offer | None = None
    conflict: bool = False
    paid_by_other: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Give the verdict and, for a wait or a hold, its reason."""

    verdict: Verdict
    reason: Reason = Reason.NONE
    overpaid: bool = False


def decide(facts: Facts, expectation: Expectation | None, mode: str) -> Decision:
    """Accept, wait or hold. Only the exact text `success` is a success (docs/service.md: Verify 1).

    Less than the price is held; more is accepted and flagged, for fees passed on to the payer
    are in the amount (docs/service.md, only seen; docs/cases.md C05).
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
    """Say whether the money is enough: by the rules about currency and amount alone."""
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
    """Say whether the page could be paid on then; no, where that cannot be told."""
    if not offer.confirmed or offer.domain not in {"", mode}:
        return False
    return all(
        paid_at is not None and since is not None and paid_at < since for since in offer.withdrawn
    )


def _money_objection(facts: Facts, expectation: Expectation) -> Reason:
    if not facts.currency or facts.currency.upper() != expectation.currency.upper():
        return Reason.CURRENCY_MISMATCH
    if type(facts.amount) is not int or facts.amount <= 0:
        return Reason.AMOUNT_INVALID
    if expectation.amount is not None and facts.amount < expectation.amount:
        return Reason.AMOUNT_MISMATCH
    return Reason.NONE
