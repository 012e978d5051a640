"""Ticked payments are attributed to one page at once: each by the rules, each with its own result."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from payments_pages.choices import Attributed, Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import mirror_another
from tests.support.goods.models import Good
from tests.unit.admin.transactions.conftest import SignIn, said, state_of
from tests.unit.admin.transactions.test_list import LIST, act

pytestmark = pytest.mark.django_db

UNATTRIBUTED = (FulfilmentState.HELD, Reason.UNATTRIBUTED)


@pytest.fixture
def three(tea_box: PaymentPage, sandbox: Sandbox) -> list[Transaction]:
    """Held payments that nothing says the purpose of: of the price, of more, and of too little."""
    for amount in (10000, 12000, 9000):
        reference = sandbox.pay("tea-box", amount=amount)
        found = confirm_payment(reference, door=Door.WEBHOOK, vouched=True)
        assert found.outcome is Outcome.HELD
    let_time_pass(10)
    return list(Transaction.objects.order_by("pk"))


def seen_by(client: Client, *rows: Transaction) -> list[str]:
    return [row["seen"] for row in act(client, "attribute_held", *rows).context["rows"]]


def test_the_rules_decide_about_each_and_staff_read_each_result(
    staff: Client, three: list[Transaction], tea_box: PaymentPage
) -> None:
    asked = act(staff, "attribute_held", *three)
    shown = asked.content.decode()
    assert all(row.reference in shown for row in three)
    assert 'name="page"' in shown
    assert '<option value="tea-box">' in shown
    seen = [row["seen"] for row in asked.context["rows"]]
    form = {"confirmed": "yes", "page": "tea-box", "note": "from the export"}
    done = act(staff, "attribute_held", *three, seen=seen, **form)
    assert said(done).count("delivered now") == 2
    assert 'still held: paid less than <bdi dir="auto">Tea box</bdi> costs' in said(done)
    states = [state_of(row) for row in three]
    assert states[2] == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    assert [state for state, _reason in states[:2]] == [FulfilmentState.DELIVERED] * 2
    assert Good.objects.count() == 2
    for row in Transaction.objects.all():
        assert (row.page, row.attributed_by) == (tea_box, Attributed.STAFF)
    events = Event.objects.filter(kind="attributed")
    assert {event.detail for event in events} == {"tea-box: from the export"}
    assert {event.actor for event in events} == {"staff"}
    assert LogEntry.objects.filter(change_message__contains="payment page").count() == 3


def test_a_second_click_does_nothing_more(
    staff: Client, three: list[Transaction], tea_box: PaymentPage
) -> None:
    seen = seen_by(staff, *three)
    form = {"confirmed": "yes", "page": "tea-box", "seen": seen}
    act(staff, "attribute_held", *three, **form)
    again = act(staff, "attribute_held", *three, **form)
    assert said(again).count("nothing to do in this state") == 3
    assert Good.objects.count() == 2


@pytest.mark.parametrize("page", ["", "no-such-page"])
def test_a_page_that_is_not_found_is_asked_for_again_and_nothing_is_done(
    staff: Client, three: list[Transaction], page: str
) -> None:
    form = {"confirmed": "yes", "page": page, "note": "typed", "seen": seen_by(staff, *three)}
    answer = act(staff, "attribute_held", *three, **form)
    shown = answer.content.decode()
    assert "errorlist" in shown
    assert ">\ntyped</textarea>" in shown
    assert [state_of(row) for row in three] == [UNATTRIBUTED] * 3


def test_one_that_changed_while_the_page_was_typed_is_left_alone(
    staff: Client, three: list[Transaction], tea_box: PaymentPage
) -> None:
    seen = seen_by(staff, *three)
    confirm_payment(three[0].reference, door=Door.CALLBACK, page_token=tea_box.token)
    form = {"confirmed": "yes", "page": "tea-box", "seen": seen}
    done = act(staff, "attribute_held", three[0], three[1], **form)
    assert said(done).count("nothing to do in this state") == 1
    assert Good.objects.count() == 2


def test_it_needs_the_permission_to_attribute(
    sign_in: SignIn, three: list[Transaction], tea_box: PaymentPage
) -> None:
    form: dict[str, Any] = {"confirmed": "yes", "page": "tea-box"}
    without = sign_in("view_transaction", "approve_fulfilment", "reject_fulfilment")
    assert 'value="attribute_held"' not in without.get(LIST).content.decode()
    act(without, "attribute_held", *three, **form)
    assert [state_of(row) for row in three] == [UNATTRIBUTED] * 3
    having = sign_in("view_transaction", "attribute_transaction")
    assert 'value="attribute_held"' in having.get(LIST).content.decode()
    act(having, "attribute_held", *three, seen=seen_by(having, *three), **form)
    assert Good.objects.count() == 2


def test_pages_are_offered_that_the_ticked_payments_would_be_enough_for(
    staff: Client, three: list[Transaction], sandbox: Sandbox
) -> None:
    mirror_another(sandbox, slug="cheap", amount=100)
    mirror_another(sandbox, slug="dear", amount=1_000_000)
    shown = act(staff, "attribute_held", *three).content.decode()
    assert '<option value="cheap">' in shown
    assert '<option value="tea-box">' in shown, "enough of them would fit"
    assert '<option value="dear">' not in shown
