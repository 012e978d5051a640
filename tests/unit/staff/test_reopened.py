"""A rejection made by mistake is taken back: the payment is held again, and nothing is given."""

import threading
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from payments_pages import staff
from payments_pages.choices import Door, FulfilmentState, Mode, Outcome, Reason
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

HELD, REJECTED = FulfilmentState.HELD, FulfilmentState.REJECTED


def read() -> Transaction:
    return Transaction.objects.select_related("fulfilment").get()


def state() -> tuple[str, str, str]:
    row = Fulfilment.objects.get()
    return row.state, row.reason, row.decided_by


@pytest.fixture
def rejected(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """A payment of less than the price, held and then rejected."""
    reference = sandbox.pay("tea-box", amount=9999)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(7200)
    assert staff.reject(read(), actor="Omar", note="wrong row")
    return read()


@pytest.fixture
def failing(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> Transaction:
    """An accepted payment whose delivery failed once, rejected before its second attempt."""
    configure(HANDLER="tests.support.goods.handlers.fail_first")
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    assert Fulfilment.objects.get().state == FulfilmentState.FAILED
    let_time_pass(7200)
    assert staff.reject(read(), actor="Omar", note="wrong row")
    return read()


def test_d28_it_is_held_again_with_its_old_reason_and_a_line_in_the_timeline(
    rejected: Transaction,
) -> None:
    assert staff.may_reopen(rejected)
    assert staff.reopen(rejected, actor="Rana", note="my mistake", door=Door.ADMIN)
    assert state() == (HELD, Reason.AMOUNT_MISMATCH, "")
    event = Event.objects.get(kind="reopened")
    assert (event.actor, event.door, event.detail) == ("Rana", "admin", "my mistake")
    assert not Good.objects.exists()
    sweep_due()
    assert state()[0] == HELD, "no sweep gives it"
    assert staff.approve(read(), actor="Rana", note="agreed") is Outcome.DELIVERED
    assert Good.objects.count() == 1


def test_d28_new_evidence_decides_again_about_what_was_taken_back(
    rejected: Transaction, sandbox: Sandbox
) -> None:
    sandbox.set_transaction(rejected.reference, amount=10000)
    assert staff.verify(rejected, actor="Rana") is Outcome.REJECTED, "not while it is rejected"
    assert staff.reopen(read(), actor="Rana", note="my mistake")
    let_time_pass(10)
    assert staff.verify(read(), actor="Rana") is Outcome.DELIVERED
    assert Good.objects.count() == 1


def test_d28_what_the_policy_had_accepted_is_held_until_it_or_staff_decide(
    failing: Transaction, tea_box: PaymentPage
) -> None:
    assert failing.fulfilment.reason == ""
    assert staff.reopen(failing, actor="Rana", note="my mistake")
    assert state() == (HELD, Reason.TAKEN_BACK, "")
    sweep_due()
    confirm_payment(failing.reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert state()[:2] == (HELD, Reason.TAKEN_BACK)
    assert staff.may_approve(read())
    assert staff.may_reject(read())
    assert staff.verify(read(), actor="Rana") is Outcome.DELIVERED
    assert Good.objects.count() == 1


def test_d28_it_may_be_rejected_and_taken_back_again(rejected: Transaction) -> None:
    for _time in range(2):
        assert staff.reopen(read(), actor="Rana", note="x")
        assert staff.reject(read(), actor="Rana", note="y")
    assert state() == (REJECTED, Reason.AMOUNT_MISMATCH, "Rana")


@pytest.mark.parametrize("other", ["held", "delivered", "reversed", "of the other mode"])
def test_d28_nothing_else_is_taken_back(
    rejected: Transaction, configure: Any, sandbox: Sandbox, other: str
) -> None:
    if other == "held":
        Fulfilment.objects.update(state=HELD)
    elif other == "delivered":
        Fulfilment.objects.update(state=FulfilmentState.DELIVERED, reason="")
    elif other == "reversed":
        Transaction.objects.update(status="reversed")
    else:
        configure(MODE=Mode.LIVE, SECRET_KEY="sk_live_suite")
    before = state()
    assert not staff.may_reopen(read())
    assert not staff.reopen(read(), actor="Rana", note="x")
    assert state() == before
    assert not Event.objects.filter(kind="reopened").exists()


def test_d28_of_people_at_once_one_takes_it_back(rejected: Transaction) -> None:
    people = [f"Person {number}" for number in range(4)]
    together = threading.Barrier(len(people))

    def take_back(person: str) -> bool:
        seen = read()
        together.wait(timeout=20)
        return staff.reopen(seen, actor=person, note="x")

    jobs = [in_thread(partial(take_back, person)) for person in people]
    done = [job.result(timeout=30) for job in jobs]
    assert sorted(done) == [False, False, False, True]
    assert Event.objects.get(kind="reopened").actor == people[done.index(True)]
    assert state()[0] == HELD


@pytest.mark.parametrize("answer", ["success", "reversed"])
def test_d28_taken_back_while_somebody_verifies_gives_nothing_by_itself(
    rejected: Transaction, sandbox: Sandbox, answer: str
) -> None:
    sandbox.set_transaction(rejected.reference, status=answer)
    done: list[bool] = []

    def take_back() -> None:
        job = in_thread(lambda: staff.reopen(read(), actor="Rana", note="x"))
        done.append(job.result(timeout=20))

    sandbox.faults.add(operation="verify", kind="run", function=take_back, times=1)
    staff.verify(rejected, actor="Omar")
    assert done == [True]
    assert state()[0] == HELD
    assert Transaction.objects.get().status == answer
    assert not Good.objects.exists()
    let_time_pass(10)
    staff.verify(read(), actor="Omar")
    expected = Reason.AMOUNT_MISMATCH if answer == "success" else Reason.NOT_SUCCESS
    assert state()[:2] == (HELD, expected)
    assert not Good.objects.exists()


def test_d28_reversed_since_staff_looked_is_not_taken_back(
    rejected: Transaction, sandbox: Sandbox
) -> None:
    seen = read()
    sandbox.set_transaction(rejected.reference, status="reversed")
    staff.verify(read(), actor="Omar")
    assert not staff.reopen(seen, actor="Rana", note="x")
    assert state()[0] == REJECTED
    assert not Event.objects.filter(kind="reopened").exists()


def test_d28_the_payers_page_follows(
    client: Client, rejected: Transaction, tea_box: PaymentPage
) -> None:
    def told() -> Any:
        url = reverse("payments_pages:result-status", args=[rejected.token])
        return client.get(url).json()

    before = told()
    assert staff.reopen(rejected, actor="Rana", note="x")
    assert confirm_payment(rejected.reference, door=Door.CONFIRM).outcome is Outcome.HELD
    assert staff.approve(read(), actor="Rana", note="x") is Outcome.DELIVERED
    assert told() != before
