"""Staff attribute a payment to a page: the policy decides again, once, also if others act meanwhile."""

from typing import Any

import pytest

from payments_pages.choices import Attributed, Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import Confirmation, assign, confirm_payment, sweep_due
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_held
from payments_pages.staff import decisions
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment, in_thread, meanwhile, mirror_another
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)

REFERENCE = "PPG-1"


def confirm(page: PaymentPage | None = None, **more: Any) -> Confirmation:
    token = page.token if page else None
    return confirm_payment(REFERENCE, **{"door": Door.CALLBACK, "page_token": token, **more})


def row() -> Fulfilment:
    return Fulfilment.objects.select_related("transaction").get()


def known() -> tuple[PaymentPage | None, str]:
    paid = Transaction.objects.select_related("page").get()
    return paid.page, paid.attributed_by


@pytest.fixture
def pageless(tea_box: PaymentPage, sandbox: Sandbox) -> Fulfilment:
    sandbox.pay("tea-box", reference=REFERENCE)
    assert confirm(door=Door.WEBHOOK).outcome is Outcome.HELD
    let_time_pass(10)
    return row()


def test_a_page_that_fits_ends_the_hold(pageless: Fulfilment, tea_box: PaymentPage) -> None:
    assert (
        decisions.attribute(pageless.transaction, page=tea_box, actor="Rana", note="by mail")
        is Outcome.DELIVERED
    )
    assert known() == (tea_box, Attributed.STAFF)
    assert (Good.objects.count(), row().decided_by) == (1, "")
    kinds = list(Event.objects.order_by("pk").values_list("kind", "actor"))
    assert kinds[-3:] == [("attributed", "Rana"), ("accepted", "Rana"), ("delivered", "")]


def test_a_page_that_does_not_fit_holds_it_for_the_true_reason(
    pageless: Fulfilment, sandbox: Sandbox
) -> None:
    told = []
    listener = lambda fulfilment, **_more: told.append(fulfilment.reason)  # noqa: E731 - kept alive here
    fulfilment_held.connect(listener)
    for fields, reason in (
        ({"slug": "dear", "amount": 10001}, Reason.AMOUNT_MISMATCH),
        ({"slug": "jod", "amount": 100, "currency": "JOD"}, Reason.CURRENCY_MISMATCH),
    ):
        page = mirror_another(sandbox, **{**fields, "name": "Page"})
        PaymentPage.objects.filter(pk=page.pk).update(currency=fields.get("currency", "ILS"))
        page.refresh_from_db()
        assert decisions.attribute(row().transaction, page=page, actor="Rana") is Outcome.HELD
        assert (row().reason, known()) == (reason, (page, Attributed.STAFF))
    fulfilment_held.disconnect(listener)
    assert told == [Reason.AMOUNT_MISMATCH, Reason.CURRENCY_MISMATCH]
    assert not Good.objects.exists()


def test_who_has_it_in_hand_twice_is_told_that_it_has_moved_on(
    pageless: Fulfilment, tea_box: PaymentPage
) -> None:
    assert (
        decisions.attribute(pageless.transaction, page=tea_box, actor="Rana") is Outcome.DELIVERED
    )
    assert decisions.attribute(pageless.transaction, page=tea_box, actor="Omar") is None
    assert Good.objects.count() == 1
    assert Event.objects.filter(kind="attributed").count() == 1


def test_what_naming_a_page_cannot_cure_is_left_alone(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    sandbox.pay("tea-box", reference=REFERENCE, domain="live")
    assert confirm(tea_box).outcome is Outcome.HELD
    assert decisions.attribute(row().transaction, page=tea_box, actor="Rana") is None
    assert row().reason == Reason.MODE_MISMATCH


def test_what_the_merchants_code_expected_is_not_overruled(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    expect_payment(REFERENCE, amount=20000)
    sandbox.add_transaction(REFERENCE)
    assert confirm().outcome is Outcome.HELD
    assert not decisions.may_attribute(row().transaction)
    assert decisions.attribute(row().transaction, page=tea_box, actor="Rana") is None


def test_a_second_payment_may_be_for_a_page_instead(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    """The expected payment that the payer's side named is detached; the first payment keeps it."""
    expected = expect_payment("PPG-0", paid_by_key="another")
    sandbox.add_transaction(REFERENCE, metadata={"payments_pages_expected": "PPG-0"})
    assert confirm().outcome is Outcome.HELD
    assert row().reason == Reason.DUPLICATE_PAYMENT
    assert decisions.attribute(row().transaction, page=tea_box, actor="Rana") is Outcome.DELIVERED
    assert Transaction.objects.get().expected_payment is None
    expected.refresh_from_db()
    assert expected.paid_by_key == "another"


def test_a_note_has_words_and_an_end(pageless: Fulfilment) -> None:
    for text in ("", " ", "x" * 2001):
        with pytest.raises(ValueError, match="2000"):
            decisions.add_note(pageless.transaction, actor="Rana", note=text)
    decisions.add_note(pageless.transaction, actor="Rana", note="called")
    assert Event.objects.get(kind="noted").detail == "called"


# At the same time


def test_an_answer_on_its_way_does_not_take_back_what_staff_said_meanwhile(
    pageless: Fulfilment, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """The service was asked before staff named the page; this answer would overwrite the page."""
    said: list[Any] = []

    def attribute() -> None:
        said.append(assign(pageless, tea_box, door=Door.ADMIN, actor="Rana", note=""))

    sandbox.faults.add(
        operation="verify", kind="run", function=lambda: in_thread(attribute).result()
    )
    found = confirm(door=Door.WEBHOOK, refresh=True)
    assert said == [pageless]
    assert found.outcome is Outcome.DELIVERED
    assert known() == (tea_box, Attributed.STAFF)
    assert Good.objects.count() == 1


def test_a_page_that_does_not_fit_is_not_forgotten_either(
    pageless: Fulfilment, sandbox: Sandbox
) -> None:
    dear = mirror_another(sandbox, slug="dear", amount=10001)
    sandbox.faults.add(
        operation="verify",
        kind="run",
        function=lambda: in_thread(
            lambda: assign(pageless, dear, door=Door.ADMIN, actor="Rana", note="")
        ).result(),
    )
    confirm(door=Door.WEBHOOK, refresh=True)
    assert known() == (dear, Attributed.STAFF)
    assert (row().state, row().reason) == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    # The answer was ignored; the service is asked again.
    sandbox.faults.clear()
    sandbox.set_transaction(REFERENCE, status="reversed")
    let_time_pass(3600)
    sweep_due()
    assert Transaction.objects.get().status == "reversed"
    assert Verification.objects.get().state == "settled"


def test_a_payer_who_came_back_first_keeps_the_page(
    pageless: Fulfilment, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    other = mirror_another(sandbox, slug="other", amount=100)
    assert confirm(tea_box).outcome is Outcome.DELIVERED
    assert decisions.attribute(pageless.transaction, page=other, actor="Rana") is None
    assert known() == (tea_box, Attributed.CALLBACK)
    assert Good.objects.count() == 1
    assert not Event.objects.filter(kind="attributed").exists()


def test_a_payer_who_comes_back_before_the_delivery_has_the_page_of_staff_delivered_once(
    pageless: Fulfilment, tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    other = mirror_another(sandbox, slug="other", amount=100)
    assert assign(pageless, other, door=Door.ADMIN, actor="Rana", note="") == pageless
    with meanwhile("SELECT payments_pages_verification", lambda: confirm(tea_box).outcome):
        outcome = confirm(door=Door.ADMIN, deliver_now=True).outcome
    assert outcome in {Outcome.DELIVERED, Outcome.ALREADY_DELIVERED}
    assert known() == (other, Attributed.STAFF)
    assert Good.objects.count() == 1


def test_who_is_told_that_it_has_moved_on_stops_nobody_who_asks(
    pageless: Fulfilment, tea_box: PaymentPage
) -> None:
    assert confirm(tea_box).outcome is Outcome.DELIVERED
    fence = Verification.objects.get().attempts
    assert decisions.attribute(pageless.transaction, page=tea_box, actor="Rana") is None
    assert Verification.objects.get().attempts == fence
