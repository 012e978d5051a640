"""The service is asked about a payment as long as it calls it open (D31)."""

import datetime as dt
from collections.abc import Callable

import pytest

from payments_pages.choices import Door, Outcome, VerificationState
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import ExpectedPayment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good
from tests.support.scale import chosen
from tests.support.service_answers import HOUR, days

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

OPEN = ("pending", "ongoing", "processing", "queued", "under_review", "PENDING")
FAILED = ("failed", "abandoned")


def paid_on_a_page(sandbox: Sandbox, page: PaymentPage, status: str) -> str:
    """The payer comes back at once."""
    reference = sandbox.pay("tea-box", status=status)
    found = confirm_payment(
        reference, door=Door.CALLBACK, page_token=page.token, client_ip="192.0.2.7"
    )
    assert found.outcome in {Outcome.PENDING, Outcome.NOT_PAID}
    return reference


def paid_in_a_popup(sandbox: Sandbox, page: PaymentPage, status: str) -> str:
    """The payer closes the popup: only the sweep can find out."""
    expected = ExpectedPayment.objects.expect(amount=10000, currency="ILS")
    sandbox.start_checkout(expected.reference, amount=10000, currency="ILS")
    sandbox.end_checkout(expected.reference)
    sandbox.set_transaction(expected.reference, status=status)
    let_time_pass(HOUR)
    sweep_due()
    return expected.reference


Way = Callable[[Sandbox, PaymentPage, str], str]
ways = pytest.mark.parametrize("way", [paid_on_a_page, paid_in_a_popup], ids=["page", "popup"])


@pytest.mark.parametrize("waited", chosen([2, 4, 10], 4, 10))
@ways
@pytest.mark.parametrize("status", chosen(OPEN, "pending", "PENDING"))
def test_a_payment_that_takes_days_is_given_when_it_is_paid(
    tea_box: PaymentPage, sandbox: Sandbox, status: str, way: Way, waited: int
) -> None:
    """Four sweeps a day and no webhook."""
    reference = way(sandbox, tea_box, status)
    for _sweep in days(waited):
        pass
    assert Transaction.objects.get().status == status
    assert not Good.objects.exists()
    sandbox.set_transaction(reference, status="success")
    for _sweep in days(2):
        pass
    assert Good.objects.get().reference == reference


@ways
@pytest.mark.parametrize("status", chosen([OPEN[0], OPEN[-1]], OPEN[-1]))  # ten days: above
def test_what_is_open_is_asked_about_once_a_day_for_as_long_as_it_is_open(
    tea_box: PaymentPage, sandbox: Sandbox, status: str, way: Way
) -> None:
    reference = way(sandbox, tea_box, status)
    for _sweep in days(30):
        assert Verification.objects.get().state == VerificationState.DUE
    calls = []
    for _day in range(10):
        before = sandbox.verify_calls(reference)
        for _sweep in days(1 + 1 / 4):  # the sweeps are six hours apart
            pass
        calls.append(sandbox.verify_calls(reference) - before)
    assert min(calls) >= 1, f"calls a day: {calls}"
    assert max(calls) <= 2, f"no more often than that: {calls}"
    sandbox.set_transaction(reference, status="success")
    for _sweep in days(2):
        pass
    assert Good.objects.get().reference == reference


@ways
@pytest.mark.parametrize("later", FAILED)
def test_what_was_open_for_days_and_then_failed_is_given_up(
    tea_box: PaymentPage, sandbox: Sandbox, later: str, way: Way
) -> None:
    """The service is no longer asked about a payment that it calls failed."""
    reference = way(sandbox, tea_box, "pending")
    for _sweep in days(10):
        pass
    sandbox.set_transaction(reference, status=later)
    for _sweep in days(5):
        pass
    calls = sandbox.verify_calls(reference)
    for _sweep in days(5):
        pass
    row = Verification.objects.get()
    assert (row.state, row.next_at) == (VerificationState.LAPSED, None)
    assert sandbox.verify_calls(reference) == calls


@ways
@pytest.mark.parametrize("first", FAILED)
def test_what_failed_and_is_taken_up_again_is_asked_about_until_it_is_over(
    tea_box: PaymentPage, sandbox: Sandbox, first: str, way: Way
) -> None:
    """Within the three days the payer begins a transfer under the same reference."""
    reference = way(sandbox, tea_box, first)
    for _sweep in days(2):
        pass
    sandbox.set_transaction(reference, status="processing")
    for _sweep in days(8):
        pass
    sandbox.set_transaction(reference, status="success")
    for _sweep in days(2):
        pass
    assert Good.objects.count() == 1


@ways
@pytest.mark.parametrize("status", FAILED)
def test_what_failed_is_given_up_three_days_after_the_last_word(
    tea_box: PaymentPage, sandbox: Sandbox, status: str, way: Way
) -> None:
    way(sandbox, tea_box, status)
    for _sweep in days(2.75):
        assert Verification.objects.get().state == VerificationState.DUE
    for _sweep in days(1):
        pass
    row = Verification.objects.get()
    assert (row.state, row.next_at) == (VerificationState.LAPSED, None)


@pytest.mark.parametrize("error", [{"kind": "drop"}, {"kind": "html", "status": 502}])
@ways
def test_days_without_an_answer_do_not_end_an_open_payment(
    tea_box: PaymentPage, sandbox: Sandbox, way: Way, error: dict[str, object]
) -> None:
    """While the service does not answer, its last answer still counts."""
    reference = way(sandbox, tea_box, "pending")
    for _sweep in days(2):
        pass
    sandbox.faults.add(operation="verify", **error)  # type: ignore[arg-type]
    for _sweep in days(6):
        pass
    sandbox.faults.clear()
    sandbox.set_transaction(reference, status="success")
    for _sweep in days(2):
        pass
    assert Good.objects.count() == 1
    assert (
        Transaction.objects.get().verified_at
        > Transaction.objects.get().created_at - dt.timedelta(1)
    )
