"""The policy as a table, then by properties: it decides on any input, and accepts only what fits."""

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments_pages.choices import Reason, Verdict
from payments_pages.confirmation import POLICY_REASONS
from payments_pages.confirmation.policy import Decision, Expectation, Facts, Offer, decide, fits

NOON = dt.datetime(2026, 11, 28, 12, tzinfo=dt.UTC)
BEFORE, AFTER = NOON - dt.timedelta(seconds=1), NOON + dt.timedelta(seconds=1)
PAID = Facts(status="success", domain="test", amount=10000, currency="ILS", paid_at=NOON)
PRICE = Expectation(amount=10000, currency="ILS")
ON_SALE = Offer(domain="test")
OFFERED = replace(PRICE, offer=ON_SALE)
ANY_PRICE = Expectation(amount=None, currency="ILS")


def wait() -> Decision:
    return Decision(verdict=Verdict.WAIT, reason=Reason.NOT_SUCCESS)


def hold(reason: Reason) -> Decision:
    return Decision(verdict=Verdict.HOLD, reason=reason)


def accept(*, overpaid: bool = False) -> Decision:
    return Decision(verdict=Verdict.ACCEPT, overpaid=overpaid)


TABLE: list[tuple[Facts, Expectation | None, Decision]] = [
    (PAID, PRICE, accept()),
    # The status is the exact text, or nothing is a success (interface: Verify 1, case C03).
    *(
        (replace(PAID, status=status), PRICE, wait())
        for status in (
            "failed", "pending", "ongoing", "abandoned", "reversed", "queued", "processing",
            "Success", "SUCCESS", " success", "success ", "success\n", "succes", "true", "",
            "success\ufffd", "partial success",
        )
    ),
    # Test and live money do not mix.
    (replace(PAID, domain="live"), PRICE, hold(Reason.MODE_MISMATCH)),
    (replace(PAID, domain="TEST"), PRICE, hold(Reason.MODE_MISMATCH)),
    (replace(PAID, domain=""), PRICE, hold(Reason.MODE_MISMATCH)),
    (PAID, None, hold(Reason.UNATTRIBUTED)),
    # A page of the other mode, or one that the service never confirmed, sells nothing.
    (PAID, OFFERED, accept()),
    (PAID, replace(PRICE, offer=replace(ON_SALE, domain="")), accept()),
    *(
        (PAID, replace(PRICE, offer=offer), hold(Reason.PAGE_NOT_ON_SALE))
        for offer in (
            replace(ON_SALE, domain="live"), replace(ON_SALE, domain="TEST"),
            replace(ON_SALE, confirmed=False), replace(ON_SALE, domain="live", sold_here=False),
        )
    ),
    # A payment from before its page went off sale is accepted. One from that moment or later, or
    # without a time, is not.
    *(
        (
            replace(PAID, paid_at=paid_at),
            replace(PRICE, offer=replace(ON_SALE, withdrawn=withdrawn)),
            accept() if given else hold(Reason.PAGE_NOT_ON_SALE),
        )
        for paid_at, withdrawn, given in (
            (NOON, (AFTER,), True), (NOON, (AFTER, AFTER), True), (None, (), True),
            (NOON, (NOON,), False), (NOON, (BEFORE,), False), (NOON, (None,), False),
            (NOON, (AFTER, BEFORE), False), (NOON, (AFTER, None), False), (None, (AFTER,), False),
        )
    ),
    # Another site delivers the payments on its own pages.
    (PAID, replace(PRICE, offer=replace(ON_SALE, sold_here=False)), hold(Reason.OTHER_SITE)),
    # Currencies are compared without regard to case.
    (replace(PAID, currency="ils"), PRICE, accept()),
    (PAID, replace(PRICE, currency="ils"), accept()),
    (replace(PAID, currency="JOD"), PRICE, hold(Reason.CURRENCY_MISMATCH)),
    (replace(PAID, currency=""), PRICE, hold(Reason.CURRENCY_MISMATCH)),
    # S14: letters that only Python's upper() makes ASCII.
    *(
        (replace(PAID, currency=code), price, hold(Reason.CURRENCY_MISMATCH))
        for price in (PRICE, ANY_PRICE)
        for code in ("ıls", "ılS", "ilſ", "ILſ")
    ),
    (replace(PAID, currency="ils"), PRICE, accept()),
    (replace(PAID, currency="ILSX"), PRICE, hold(Reason.CURRENCY_MISMATCH)),
    (replace(PAID, currency=""), replace(PRICE, currency=""), hold(Reason.CURRENCY_MISMATCH)),
    (replace(PAID, currency="JOD"), ANY_PRICE, hold(Reason.CURRENCY_MISMATCH)),
    # An amount that is not a whole positive number of minor units is held (case C41).
    *(
        (replace(PAID, amount=amount), price, hold(Reason.AMOUNT_INVALID))
        for amount in (None, 0, -1, -10000, True, 10000.0, "10000")
        for price in (PRICE, ANY_PRICE)
    ),
    # Less is held, more is accepted and flagged (case C05).
    (replace(PAID, amount=9999), PRICE, hold(Reason.AMOUNT_MISMATCH)),
    (replace(PAID, amount=1), PRICE, hold(Reason.AMOUNT_MISMATCH)),
    (replace(PAID, amount=10001), PRICE, accept(overpaid=True)),
    (replace(PAID, amount=2**62), PRICE, accept(overpaid=True)),
    (replace(PAID, amount=1), ANY_PRICE, accept()),
    (PAID, replace(PRICE, conflict=True), hold(Reason.ATTRIBUTION_CONFLICT)),
    (PAID, replace(PRICE, paid_by_other=True), hold(Reason.DUPLICATE_PAYMENT)),
    # The order of the rules: the first rule that is broken gives the reason.
    (replace(PAID, status="failed", domain="live"), None, wait()),
    (replace(PAID, domain="live"), None, hold(Reason.MODE_MISMATCH)),
    (
        replace(PAID, domain="live"),
        replace(PRICE, offer=replace(ON_SALE, confirmed=False)),
        hold(Reason.MODE_MISMATCH),
    ),
    (
        replace(PAID, currency="JOD"),
        replace(PRICE, offer=replace(ON_SALE, withdrawn=(BEFORE,), sold_here=False)),
        hold(Reason.PAGE_NOT_ON_SALE),
    ),
    (
        replace(PAID, currency="JOD"),
        replace(PRICE, offer=replace(ON_SALE, sold_here=False), conflict=True),
        hold(Reason.OTHER_SITE),
    ),
    (replace(PAID, currency="JOD", amount=None), PRICE, hold(Reason.CURRENCY_MISMATCH)),
    (
        replace(PAID, amount=9999),
        replace(PRICE, conflict=True, paid_by_other=True),
        hold(Reason.AMOUNT_MISMATCH),
    ),
    (
        PAID,
        replace(PRICE, conflict=True, paid_by_other=True),
        hold(Reason.ATTRIBUTION_CONFLICT),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "expectation", "decision"), TABLE)
def test_the_table(facts: Facts, expectation: Expectation | None, decision: Decision) -> None:
    assert decide(facts, expectation, "test") == decision


@pytest.mark.parametrize(
    ("facts", "expectation", "enough"),
    [
        (PAID, PRICE, True),
        (replace(PAID, amount=9999), PRICE, False),
        (replace(PAID, amount=1), ANY_PRICE, True),
        (replace(PAID, amount=0), ANY_PRICE, False),
        (replace(PAID, currency="JOD"), ANY_PRICE, False),
        (replace(PAID, domain="live", status="pending"), PRICE, True),
        (PAID, replace(PRICE, offer=replace(ON_SALE, sold_here=False)), True),
    ],
)
def test_whether_the_money_is_enough_is_a_matter_of_currency_and_amount_alone(
    facts: Facts, expectation: Expectation, enough: bool
) -> None:
    assert fits(facts, expectation) is enough


def test_live_money_is_accepted_in_live_mode_only() -> None:
    live = replace(PAID, domain="live")
    assert decide(live, PRICE, "live") == accept()
    assert decide(PAID, PRICE, "live") == hold(Reason.MODE_MISMATCH)


words = st.sampled_from(["success", "failed", "", "test", "live", "ILS", "JOD"]) | st.text()
amounts = st.none() | st.integers() | st.booleans() | st.integers(9_998, 10_002)
moments = st.none() | st.sampled_from([BEFORE, NOON, AFTER])
facts_ = st.builds(
    Facts, status=words, domain=words, amount=amounts, currency=words, paid_at=moments
)
offers = st.builds(
    Offer,
    domain=words,
    confirmed=st.booleans(),
    withdrawn=st.lists(moments, max_size=2).map(tuple),
    sold_here=st.booleans(),
)
expectations = st.none() | st.builds(
    Expectation,
    amount=st.none() | st.integers(1),
    currency=words,
    offer=st.none() | offers,
    conflict=st.booleans(),
    paid_by_other=st.booleans(),
)


@given(facts_, expectations, st.sampled_from(["test", "live"]))
def test_every_question_has_one_answer_with_a_reason(
    facts: Facts, expectation: Expectation | None, mode: str
) -> None:
    decision = decide(facts, expectation, mode)
    assert decision == decide(facts, expectation, mode)
    accepted = decision.verdict is Verdict.ACCEPT
    assert accepted == (decision.reason is Reason.NONE)
    assert accepted or decision.reason in POLICY_REASONS
    assert (decision.verdict is Verdict.WAIT) == (facts.status != "success")


@given(facts_, expectations, st.sampled_from(["test", "live"]))
def test_what_is_accepted_was_paid_in_full(
    facts: Facts, expectation: Expectation | None, mode: str
) -> None:
    decision = decide(facts, expectation, mode)
    if decision.verdict is not Verdict.ACCEPT:
        return
    assert expectation is not None
    assert facts.status == "success"
    assert facts.domain == mode
    assert type(facts.amount) is int
    assert facts.amount >= (expectation.amount or 1)
    assert facts.currency.upper() == expectation.currency.upper() != ""
    if (offer := expectation.offer) is not None:
        assert offer.confirmed
        assert offer.sold_here
        assert offer.domain in {"", mode}
        for since in offer.withdrawn:
            assert facts.paid_at is not None
            assert since is not None
            assert facts.paid_at < since
    assert not expectation.conflict
    assert not expectation.paid_by_other
    assert decision.overpaid == (expectation.amount not in (None, facts.amount))


@given(st.integers(1, 2**63 - 1), st.integers(1, 2**63 - 1))
def test_no_amount_is_compared_as_a_float(paid: int, price: int) -> None:
    decision = decide(replace(PAID, amount=paid), replace(PRICE, amount=price), "test")
    assert (decision.verdict is Verdict.ACCEPT) == (paid >= price)
    assert decision.overpaid == (paid > price)
