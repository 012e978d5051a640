"""Decide, purely, what a verified transaction deserves.

No database, no network, no settings: facts and an expectation in, a decision out. The rules
and their order are this module's whole content; a test holds them as a table.
"""

from dataclasses import dataclass

from payments_pages.choices import Reason, Verdict

__all__ = ["FINAL_FAILURES", "POLICY_REASONS", "Decision", "Expectation", "Facts", "decide"]

FINAL_FAILURES = frozenset({"failed", "abandoned", "reversed"})
"""Statuses shown to the payer as not paid (known facts). None is final: a payment may be made
a minute later under the same reference."""

POLICY_REASONS = frozenset(
    {
        Reason.NOT_SUCCESS,
        Reason.MODE_MISMATCH,
        Reason.UNATTRIBUTED,
        Reason.CURRENCY_MISMATCH,
        Reason.AMOUNT_INVALID,
        Reason.AMOUNT_MISMATCH,
        Reason.ATTRIBUTION_CONFLICT,
        Reason.DUPLICATE_PAYMENT,
    }
)
"""Holds that this module makes, hence may lift when the facts change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """State what the service said. `amount` is minor units, None when it could not be read."""

    status: str
    domain: str
    amount: int | None
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """State what must have been paid. `amount` None: the payer chose it.

    `conflict` says that two sources name different things; `paid_by_other` that another
    transaction has already been accepted for the same expected payment.
    """

    amount: int | None
    currency: str
    conflict: bool = False
    paid_by_other: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Give the verdict and, for a wait or a hold, its reason."""

    verdict: Verdict
    reason: Reason = Reason.NONE
    overpaid: bool = False


def decide(facts: Facts, expectation: Expectation | None, mode: str) -> Decision:
    """Accept, wait or hold. Only the exact text `success` is a success (interface: Verify 1).

    Less than the price is held; more is accepted and flagged, for fees passed on to the payer
    are in the amount (known fact; case C05).
    """
    if facts.status != "success":
        return Decision(verdict=Verdict.WAIT, reason=Reason.NOT_SUCCESS)
    reason = _objection(facts, expectation, mode)
    if reason is not Reason.NONE:
        return Decision(verdict=Verdict.HOLD, reason=reason)
    price = expectation.amount if expectation else None
    overpaid = price is not None and facts.amount is not None and facts.amount > price
    return Decision(verdict=Verdict.ACCEPT, overpaid=overpaid)


def _objection(facts: Facts, expectation: Expectation | None, mode: str) -> Reason:  # noqa: PLR0911 - one return per rule
    if facts.domain != mode:
        return Reason.MODE_MISMATCH
    if expectation is None:
        return Reason.UNATTRIBUTED
    if not facts.currency or facts.currency.upper() != expectation.currency.upper():
        return Reason.CURRENCY_MISMATCH
    if type(facts.amount) is not int or facts.amount <= 0:
        return Reason.AMOUNT_INVALID
    if expectation.amount is not None and facts.amount < expectation.amount:
        return Reason.AMOUNT_MISMATCH
    if expectation.conflict:
        return Reason.ATTRIBUTION_CONFLICT
    if expectation.paid_by_other:
        return Reason.DUPLICATE_PAYMENT
    return Reason.NONE
