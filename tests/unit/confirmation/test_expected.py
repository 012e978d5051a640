"""Expected payments: created with the order, paid once, never forgotten."""

import re
from typing import Any

import pytest
from django.db import transaction as db_transaction

from payments_pages.choices import (
    Attributed,
    Door,
    FulfilmentState,
    Outcome,
    Reason,
    VerificationState,
)
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import (
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import mirror_another
from tests.support.door_behaviour import at_once
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db

LARGEST = 2**63 - 1


def pay(sandbox: Sandbox, reference: str, **fields: Any) -> str:
    """Pay in a popup that was started with this reference."""
    usual = {"amount": 10000, "currency": "ILS", "metadata": ""}
    sandbox.add_transaction(reference, **{**usual, **fields})
    return reference


def expect(**fields: Any) -> ExpectedPayment:
    return ExpectedPayment.objects.expect(**{"amount": 10000, "currency": "ILS", **fields})


def hold() -> tuple[str, str]:
    row = Fulfilment.objects.order_by("-pk")[0]
    return row.state, row.reason


def test_a_reference_is_long_random_and_in_the_services_alphabet(sandbox: Sandbox) -> None:
    references = {expect().reference for _number in range(50)}
    assert len(references) == 50
    for reference in references:
        # 24 of 62 signs: 142 bits.
        assert re.fullmatch(r"[A-Za-z0-9]{24}", reference)
    assert len({sign for reference in references for sign in reference}) > 50


def test_a_reference_that_is_taken_is_drawn_anew(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    signs = iter("A" * 24 + "A" * 24 + "B" * 24)
    monkeypatch.setattr("payments_pages.models.expected.secrets.choice", lambda _all: next(signs))
    assert [expect().reference, expect().reference] == ["A" * 24, "B" * 24]


def test_what_is_expected_is_written_down_and_will_be_asked_about(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    made = expect(currency="ils", page=tea_box, context={"order": 7})
    stored = ExpectedPayment.objects.get()
    assert stored == made
    assert (stored.amount, stored.currency, stored.page) == (10000, "ILS", tea_box)
    assert stored.context == {"order": 7}
    assert str(stored) == stored.reference
    row = Verification.objects.get()
    assert (row.reference, row.state, row.vouched) == (made.reference, "due", True)
    assert row.first_door == Door.EXPECTED


@pytest.mark.parametrize(
    "amount", [0, -1, True, 100.0, "100", None, LARGEST + 1, 10**30, float("nan")]
)
def test_an_amount_that_no_payment_could_match_is_refused(sandbox: Sandbox, amount: Any) -> None:
    with pytest.raises(ValueError, match="minor units"):
        expect(amount=amount)
    assert not ExpectedPayment.objects.exists()
    assert not Verification.objects.exists()


def test_the_largest_amount_is_kept_exactly(sandbox: Sandbox) -> None:
    expect(amount=LARGEST)
    assert ExpectedPayment.objects.get().amount == LARGEST


@pytest.mark.parametrize("currency", ["", "IL", "ILSX", "I S", "₪", "إلس", "123"])
def test_what_is_no_currency_is_refused(sandbox: Sandbox, currency: str) -> None:
    with pytest.raises(ValueError, match="three letters"):
        expect(currency=currency)
    assert not ExpectedPayment.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_order_that_is_rolled_back_expects_nothing(sandbox: Sandbox) -> None:
    def order() -> None:
        with db_transaction.atomic():
            expect()
            raise LookupError("out of stock")

    with pytest.raises(LookupError):
        order()
    assert not ExpectedPayment.objects.exists()
    assert not Verification.objects.exists()
    with db_transaction.atomic():
        kept = expect()
    assert ExpectedPayment.objects.get() == kept
    assert Verification.objects.get().reference == kept.reference


def test_it_is_delivered_when_price_and_currency_fit(sandbox: Sandbox) -> None:
    made = expect()
    found = confirm_payment(pay(sandbox, made.reference), door=Door.CONFIRM)
    assert found.outcome is Outcome.DELIVERED
    stored = Transaction.objects.get()
    assert (stored.attributed_by, stored.expected_payment) == (Attributed.EXPECTED, made)
    made.refresh_from_db()
    assert made.paid_by_key == stored.reference_key


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"amount": 9999}, Reason.AMOUNT_MISMATCH),
        ({"currency": "JOD"}, Reason.CURRENCY_MISMATCH),
        ({"domain": "live"}, Reason.MODE_MISMATCH),
        ({"amount": "100.00"}, Reason.AMOUNT_INVALID),
    ],
)
def test_it_is_held_when_something_does_not_fit(
    sandbox: Sandbox, fields: dict[str, Any], reason: Reason
) -> None:
    made = expect()
    found = confirm_payment(pay(sandbox, made.reference, **fields), door=Door.CONFIRM)
    assert found.outcome is Outcome.HELD
    assert hold() == (FulfilmentState.HELD, reason)
    made.refresh_from_db()
    assert made.paid_by_key == "", "what is held has paid for nothing"


def test_what_is_expected_wins_over_what_the_payers_browser_says(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    cheap = mirror_another(sandbox, slug="cheap", amount=100)
    made = expect(page=tea_box)
    pay(sandbox, made.reference, amount=100, metadata={"page_slug": cheap.slug})
    assert confirm_payment(made.reference, door=Door.CONFIRM).outcome is Outcome.HELD
    assert hold() == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)


@pytest.mark.django_db(transaction=True)
def test_the_sweep_delivers_to_a_payer_who_never_came_back(sandbox: Sandbox) -> None:
    made = expect()
    assert sweep_due().taken == 0, "nobody has had the time to pay"
    pay(sandbox, made.reference)
    let_time_pass(125)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.get().reference == made.reference
    let_time_pass(24 * 3600)
    assert sweep_due().taken == 0


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_sweep_asks_about_one_that_is_never_paid_and_gives_up_after_three_days(
    sandbox: Sandbox,
) -> None:
    made = expect()
    for _time in range(100):
        let_time_pass(3600)
        sweep_due()
    row = Verification.objects.get()
    assert (row.reference, row.state) == (made.reference, VerificationState.LAPSED)
    assert 10 <= sandbox.verify_calls(made.reference) <= 20
    assert ExpectedPayment.objects.get() == made
    pay(sandbox, made.reference)
    found = confirm_payment(made.reference, door=Door.CONFIRM)
    assert found.outcome is Outcome.DELIVERED, "a payer who comes after that is asked about at once"


def again(made: ExpectedPayment) -> dict[str, str]:
    return {"payments_pages_expected": made.reference}


def test_c61_a_second_payment_for_it_is_held_and_kept(sandbox: Sandbox) -> None:
    made = expect()
    pay(sandbox, made.reference)
    pay(sandbox, "PPG-1062", metadata=again(made))
    assert confirm_payment(made.reference, door=Door.CONFIRM).outcome is Outcome.DELIVERED
    assert confirm_payment("PPG-1062", door=Door.WEBHOOK).outcome is Outcome.HELD
    assert hold() == (FulfilmentState.HELD, Reason.DUPLICATE_PAYMENT)
    assert Transaction.objects.filter(expected_payment=made, status="success").count() == 2
    assert Good.objects.count() == 1


def test_c61_the_first_that_is_confirmed_counts_under_whichever_reference(sandbox: Sandbox) -> None:
    made = expect()
    pay(sandbox, made.reference)
    pay(sandbox, "PPG-1062", metadata=again(made))
    assert confirm_payment("PPG-1062", door=Door.WEBHOOK).outcome is Outcome.DELIVERED
    stored = Transaction.objects.get()
    assert (stored.attributed_by, stored.expected_payment) == (Attributed.METADATA, made)
    assert confirm_payment(made.reference, door=Door.CONFIRM).outcome is Outcome.HELD
    assert hold() == (FulfilmentState.HELD, Reason.DUPLICATE_PAYMENT)


@pytest.mark.parametrize("value", ["", "MADE-UP", "a/b", "\ud800", "\x00", 7, True, None, [], {}])
def test_metadata_that_names_no_expected_payment_attributes_nothing(
    sandbox: Sandbox, value: object
) -> None:
    expect()
    pay(sandbox, "PPG-1", metadata={"payments_pages_expected": value})
    assert confirm_payment("PPG-1", door=Door.WEBHOOK).outcome is Outcome.HELD
    assert hold() == (FulfilmentState.HELD, Reason.UNATTRIBUTED)


def test_metadata_that_names_an_expected_payment_must_pay_its_price(sandbox: Sandbox) -> None:
    made = expect()
    pay(sandbox, "PPG-1", amount=1, metadata=again(made))
    assert confirm_payment("PPG-1", door=Door.WEBHOOK).outcome is Outcome.HELD
    assert hold() == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    pay(sandbox, made.reference)
    assert confirm_payment(made.reference, door=Door.CONFIRM).outcome is Outcome.DELIVERED


def test_one_payment_cannot_say_that_it_pays_for_two(sandbox: Sandbox) -> None:
    first, second = expect(), expect()
    pay(sandbox, first.reference, metadata=again(second))
    assert confirm_payment(first.reference, door=Door.CONFIRM).outcome is Outcome.HELD
    assert hold() == (FulfilmentState.HELD, Reason.ATTRIBUTION_CONFLICT)
    second.refresh_from_db()
    assert second.paid_by_key == ""


@pytest.mark.django_db(transaction=True)
def test_c61_of_two_payments_at_the_same_moment_one_is_accepted_and_one_held(
    sandbox: Sandbox,
) -> None:
    made = expect()
    pay(sandbox, made.reference)
    references = [made.reference, *(f"PPG-106{number}" for number in range(3))]
    for other in references[1:]:
        pay(sandbox, other, metadata=again(made))
    sandbox.faults.add(operation="verify", kind="barrier", count=len(references))
    found = at_once(
        [lambda r=reference: confirm_payment(r, door=Door.CONFIRM) for reference in references]
    )
    outcomes = sorted(str(one.outcome) for one in found)
    assert outcomes == ["delivered", "held", "held", "held"]
    reasons = Fulfilment.objects.filter(state=FulfilmentState.HELD).values_list("reason", flat=True)
    assert set(reasons) == {Reason.DUPLICATE_PAYMENT}
    assert Good.objects.count() == 1
    made.refresh_from_db()
    assert made.paid_by_key == Fulfilment.objects.get(state="delivered").reference_key
