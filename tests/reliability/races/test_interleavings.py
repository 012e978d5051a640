"""Rivals at the worst moment: each race that may happen is made to happen, every time."""

import time
from typing import Any

import pytest

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import Confirmation, confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import CLAIM, in_thread, meanwhile
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db

CALM = {
    Outcome.DELIVERED, Outcome.ALREADY_DELIVERED, Outcome.DELIVERING, Outcome.PENDING,
}  # fmt: skip

at_once = pytest.mark.django_db(transaction=True)
"""For tests whose rivals are on other connections, or whose commits count."""


def confirm(
    reference: str, page: PaymentPage | None = None, door: Door = Door.CALLBACK, **more: Any
) -> Confirmation:
    token = page.token if page else None
    return confirm_payment(reference, door=door, page_token=token, **more)


@at_once
def test_c01_callback_and_confirm_at_the_same_moment_share_one_call(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference="PPG-1001")
    sandbox.faults.add(operation="verify", kind="barrier", count=2, seconds=0.4)
    first = in_thread(lambda: confirm("PPG-1001", tea_box))
    second = in_thread(lambda: confirm("PPG-1001", door=Door.CONFIRM))
    outcomes = sorted([first.result().outcome, second.result().outcome])
    assert outcomes == [Outcome.ALREADY_DELIVERED, Outcome.DELIVERED]
    assert Good.objects.count() == Fulfilment.objects.count() == 1
    assert sandbox.verify_calls("PPG-1001") == 1


@at_once
def test_c01_two_answers_at_the_same_moment_are_written_once(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """Also if a lease has ended and both have asked: only the later attempt may write."""
    sandbox.pay("tea-box", reference="PPG-1001")
    sandbox.faults.add(operation="verify", kind="barrier", count=2, seconds=10)
    first = in_thread(lambda: confirm("PPG-1001", tea_box))
    while sandbox.verify_calls("PPG-1001") < 1:
        time.sleep(0.01)
    let_time_pass(60)
    second = in_thread(lambda: confirm("PPG-1001", door=Door.CONFIRM))
    outcomes = {first.result().outcome, second.result().outcome}
    assert sandbox.verify_calls("PPG-1001") == 2
    assert Outcome.DELIVERED in outcomes
    # The late attempt gets "being delivered" or "delivered before".
    assert outcomes <= CALM
    assert Good.objects.count() == Fulfilment.objects.count() == Transaction.objects.count() == 1


@at_once
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO payments_pages_verification",
        "SELECT payments_pages_verification",
    ],
)
def test_c20_a_rival_that_finishes_before_our_insert_is_believed(
    tea_box: PaymentPage, sandbox: Sandbox, statement: str
) -> None:
    """Between our query and our INSERT a rival takes the reference through the whole path."""
    sandbox.pay("tea-box", reference="PPG-1020")
    with meanwhile(statement, lambda: confirm("PPG-1020", door=Door.WEBHOOK).outcome) as theirs:
        mine = confirm("PPG-1020", tea_box)
    assert theirs == [Outcome.HELD], "nothing said what it pays for"
    assert mine.outcome is Outcome.DELIVERED
    assert Good.objects.count() == Fulfilment.objects.count() == 1
    assert sandbox.verify_calls("PPG-1020") == 1


STEPS: dict[str, list[str | tuple[str, ...]]] = {
    "new": [
        "SELECT payments_pages_verification",
        "INSERT INTO payments_pages_verification",
    ],
    "pending": [
        "SELECT payments_pages_verification",
        "SELECT payments_pages_transaction",
        CLAIM,
        "UPDATE payments_pages_fulfilment",
    ],
    "failed": [
        "SELECT payments_pages_verification",
        "SELECT payments_pages_transaction",
        "UPDATE payments_pages_fulfilment",
    ],
}
"""By what went before: the statements, outside a transaction of ours, at which a step begins."""


@at_once
@pytest.mark.parametrize(
    ("before", "step"), [(before, step) for before, steps in STEPS.items() for step in steps]
)
def test_c20_a_rival_may_do_everything_before_any_of_our_steps(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any, before: str, step: str | tuple[str, ...]
) -> None:
    reference = sandbox.pay("tea-box", status="pending" if before == "pending" else "success")
    if before != "new":
        configure(HANDLER="tests.support.goods.handlers.fail_always")
        confirm(reference, tea_box)
        configure(HANDLER="tests.support.goods.handlers.give")
        sandbox.set_transaction(reference, status="success")
        let_time_pass(3600)
    with meanwhile(step, lambda: confirm(reference, tea_box).outcome) as theirs:
        mine = confirm(reference, tea_box).outcome
    assert {mine, *theirs} <= CALM
    assert Outcome.DELIVERED in {mine, *theirs}
    assert Good.objects.count() == Fulfilment.objects.count() == 1


@at_once
def test_who_asks_knows_what_was_written_just_before_it_got_the_right(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """A slow rival writes "pending" between our look and our claim: its row is not inserted again."""
    sandbox.pay("tea-box", reference="PPG-1", status="pending")
    sandbox.faults.add(operation="verify", kind="barrier", count=2, seconds=10, times=1)
    slow = in_thread(lambda: confirm("PPG-1", tea_box).outcome)
    while sandbox.verify_calls("PPG-1") < 1:
        time.sleep(0.01)
    Verification.objects.update(next_at=Verification.objects.get().created_at)

    def finish() -> Outcome:
        sandbox.faults.clear()
        told: Outcome = slow.result(timeout=10)
        let_time_pass(10)
        return told

    with meanwhile(CLAIM, finish) as theirs:
        assert confirm("PPG-1").outcome is Outcome.PENDING
    assert theirs == [Outcome.PENDING]
    assert Transaction.objects.count() == 1
