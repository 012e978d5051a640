"""A page hint stays if the payment is enough for its page; otherwise a better one replaces it (S16)."""

from typing import Any

import pytest

from payments_pages.choices import Attributed, FulfilmentState, Reason
from payments_pages.confirmation import sweep_due
from payments_pages.models import Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import CLAIM, meanwhile, mirror_another
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)


def state() -> tuple[str, str]:
    row = Fulfilment.objects.get()
    return row.state, row.reason


def claimed() -> Any:
    return Verification.objects.get().page_claim


@pytest.fixture
def dear(sandbox: Sandbox) -> PaymentPage:
    return mirror_another(sandbox, slug="dear", amount=20000)


@pytest.fixture
def euros(sandbox: Sandbox) -> PaymentPage:
    return mirror_another(sandbox, slug="euros", amount=None, currency="EUR")


@pytest.mark.parametrize(
    ("false", "reason"),
    [("dear", Reason.AMOUNT_MISMATCH), ("euros", Reason.CURRENCY_MISMATCH)],
)
def test_a_false_claim_made_first_gives_way_to_the_true_one(
    tea_box: PaymentPage,
    sandbox: Sandbox,
    come_back: Any,
    request: pytest.FixtureRequest,
    false: str,
    reason: Reason,
) -> None:
    other = request.getfixturevalue(false)
    reference = sandbox.pay("tea-box")
    come_back(reference, other)
    assert state() == (FulfilmentState.HELD, reason)
    come_back(reference, tea_box)
    assert state() == (FulfilmentState.DELIVERED, "")
    paid = Transaction.objects.get()
    assert (paid.page, paid.attributed_by) == (tea_box, Attributed.CALLBACK)
    assert Good.objects.count() == 1


def test_a_claim_that_fits_is_not_taken_over(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any
) -> None:
    """The payment is held for another reason, so that there is time for a second page hint."""
    PaymentPage.objects.update(active=False)
    cheap = mirror_another(sandbox, slug="cheap", amount=100)
    reference = sandbox.pay("tea-box")
    come_back(reference, tea_box)
    come_back(reference, cheap)
    assert claimed() == tea_box.token
    assert state() == (FulfilmentState.HELD, Reason.PAGE_NOT_ON_SALE)
    assert not Good.objects.exists()


def test_a_claim_that_does_not_fit_does_not_give_way_to_one_that_does_not_either(
    tea_box: PaymentPage, dear: PaymentPage, euros: PaymentPage, sandbox: Sandbox, come_back: Any
) -> None:
    reference = sandbox.pay("tea-box")
    come_back(reference, dear)
    come_back(reference, euros)
    assert claimed() == dear.token
    assert state() == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)


def test_before_the_answer_is_there_the_first_claim_stays_and_later_the_next_takes_over(
    tea_box: PaymentPage, dear: PaymentPage, sandbox: Sandbox, come_back: Any
) -> None:
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="status", status=503)
    come_back(reference, dear)
    come_back(reference, tea_box)
    assert claimed() == dear.token
    sandbox.faults.clear()
    let_time_pass(600)
    sweep_due()
    assert state() == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    come_back(reference, tea_box)
    assert state() == (FulfilmentState.DELIVERED, "")


def test_a_claim_to_a_payment_that_is_still_open_gives_way_before_it_is_paid(
    tea_box: PaymentPage, dear: PaymentPage, sandbox: Sandbox, come_back: Any
) -> None:
    reference = sandbox.pay("tea-box", status="pending")
    come_back(reference, dear)
    come_back(reference, tea_box)
    sandbox.set_transaction(reference, status="success")
    let_time_pass(600)
    sweep_due()
    assert state() == (FulfilmentState.DELIVERED, "")
    assert Transaction.objects.get().page == tea_box


def test_a_conflict_by_a_false_claim_ends_when_the_true_one_names_the_same_page(
    tea_box: PaymentPage, dear: PaymentPage, sandbox: Sandbox, come_back: Any
) -> None:
    reference = sandbox.pay("tea-box", metadata={"slug": "tea-box"})
    cheap = mirror_another(sandbox, slug="cheap", amount=100)
    come_back(reference, dear)
    assert state() == (FulfilmentState.HELD, Reason.ATTRIBUTION_CONFLICT)
    come_back(reference, tea_box)
    assert state() == (FulfilmentState.DELIVERED, "")
    assert claimed() == tea_box.token
    second = sandbox.pay("tea-box", metadata={"slug": "tea-box"})
    come_back(second, cheap)
    come_back(second, tea_box)
    held = Fulfilment.objects.get(transaction__reference=second)
    assert held.reason == Reason.ATTRIBUTION_CONFLICT, "a claim that fits stays: staff decide"


def test_of_two_true_claims_at_the_same_time_one_takes_over(
    tea_box: PaymentPage, dear: PaymentPage, sandbox: Sandbox, come_back: Any
) -> None:
    cheap = mirror_another(sandbox, slug="cheap", amount=100)
    reference = sandbox.pay("tea-box")
    come_back(reference, dear)

    def rival() -> None:
        assert come_back(reference, cheap).status_code == 303

    with meanwhile(CLAIM, rival):
        come_back(reference, tea_box)
    assert claimed() == cheap.token
    assert Transaction.objects.get().page == cheap
    assert Good.objects.count() == 1


def test_a_claim_that_took_over_and_was_killed_is_decided_by_the_sweep(
    tea_box: PaymentPage, dear: PaymentPage, sandbox: Sandbox, come_back: Any
) -> None:
    reference = sandbox.pay("tea-box")
    come_back(reference, dear)
    Verification.objects.update(page_claim=tea_box.token)
    sweep_due()
    assert state() == (FulfilmentState.DELIVERED, "")
    assert sweep_due().taken == 0
