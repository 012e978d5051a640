"""Holds that nothing is known about: a page may come later (D38), a payer may come later (S14)."""

from collections.abc import Iterator
from typing import Any

import pytest

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.confirmation.unattributed_holds import conclude
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.pages import sync_pages
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_held
from payments_pages.testing import let_time_pass
from tests.conftest import meanwhile
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told() -> Iterator[list[str]]:
    """The references that staff were told of."""
    heard: list[str] = []

    def listen(fulfilment: Fulfilment, **_more: Any) -> None:
        heard.append(fulfilment.transaction.reference)

    fulfilment_held.connect(listen)
    yield heard
    fulfilment_held.disconnect(listen)


def state() -> tuple[str, str]:
    row = Fulfilment.objects.get()
    return row.state, row.reason


HELD = (FulfilmentState.HELD, Reason.UNATTRIBUTED)
DELIVERED = (FulfilmentState.DELIVERED, "")


def names_the_page(sandbox: Sandbox, page: dict[str, Any], by: str) -> dict[str, Any]:
    return {
        "referrer": {"referrer": f"{sandbox.pay_url}/{page['slug']}"},
        "slug": {"page_slug": page["slug"]},
        "number": {"page_id": page["id"]},
    }[by]


@pytest.mark.parametrize("by", ["referrer", "slug", "number"])
def test_d38_paid_before_its_page_was_mirrored_is_delivered_after_the_sync(
    sandbox: Sandbox, by: str
) -> None:
    page = sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
    reference = sandbox.pay("tea-box", metadata=names_the_page(sandbox, page, by))
    confirm_payment(reference, door=Door.CALLBACK)
    assert state() == HELD
    assert sweep_due().taken == 0
    let_time_pass(60)
    sync_pages()
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert state() == DELIVERED
    assert Good.objects.count() == 1
    assert sandbox.verify_calls(reference) == 2, "its answer may be days old"


def test_d38_a_page_that_changes_its_slug_at_the_service_counts_too(sandbox: Sandbox) -> None:
    page = sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
    sync_pages()
    confirm_payment(sandbox.pay("tea-box", metadata={"page_slug": "tea-chest"}), door=Door.CALLBACK)
    assert state() == HELD
    sandbox.state.change_page(page["id"], {"slug": "tea-chest"})
    sync_pages()
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}


def test_d38_a_reversed_payment_is_not_delivered_when_its_page_comes(sandbox: Sandbox) -> None:
    sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
    reference = sandbox.pay("tea-box", metadata={"page_slug": "tea-box"})
    confirm_payment(reference, door=Door.CALLBACK)
    sandbox.set_transaction(reference, status="reversed")
    let_time_pass(60)
    sync_pages()
    sweep_due()
    assert not Good.objects.exists()
    assert Fulfilment.objects.get().state == FulfilmentState.HELD


def test_d38_work_is_bounded_a_hold_is_looked_at_once_for_each_change_of_pages(
    sandbox: Sandbox,
) -> None:
    sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
    for _number in range(5):
        confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK)
    calls = sandbox.verify_calls()
    sync_pages()
    assert Fulfilment.objects.filter(decide_again=True).count() == 5
    assert sweep_due().taken == 0
    assert Fulfilment.objects.filter(decide_again=True).count() == 0
    sync_pages()
    assert Fulfilment.objects.filter(decide_again=True).count() == 0, "no page has changed"
    assert sandbox.verify_calls() == calls, "what fits no page costs no call"
    assert set(Fulfilment.objects.values_list("state", "reason")) == {HELD}


def test_d38_what_staff_have_decided_stays(sandbox: Sandbox) -> None:
    sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
    reference = sandbox.pay("tea-box", metadata={"page_slug": "tea-box"})
    confirm_payment(reference, door=Door.CALLBACK)
    Fulfilment.objects.update(decided_by="staff", state=FulfilmentState.REJECTED)
    sync_pages()
    assert sweep_due().taken == 0
    assert state()[0] == FulfilmentState.REJECTED


def test_d38_while_the_service_is_down_the_hold_waits_for_the_next_sweep(sandbox: Sandbox) -> None:
    sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
    reference = sandbox.pay("tea-box", metadata={"page_slug": "tea-box"})
    confirm_payment(reference, door=Door.CALLBACK)
    sync_pages()
    sandbox.faults.add(kind="status", operation="verify", status=503)
    for number in range(5):
        confirm_payment(f"OTHER-{number}", door=Door.CALLBACK)
    assert sweep_due().taken == 0
    assert state() == HELD
    sandbox.faults.clear()
    let_time_pass(60)
    assert sweep_due().outcomes[Outcome.DELIVERED] == 1


def test_s14_a_webhook_that_is_quicker_than_its_payer_tells_nobody(
    sandbox: Sandbox, tea_box: PaymentPage, come_back: Any, told: list[str]
) -> None:
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.WEBHOOK, vouched=True)
    assert state() == HELD
    let_time_pass(500)
    sweep_due()
    come_back(reference, tea_box)
    assert state() == DELIVERED
    let_time_pass(500)
    sweep_due()
    assert told == []


def test_s14_staff_are_told_once_of_a_payer_who_does_not_come(
    sandbox: Sandbox, tea_box: PaymentPage, told: list[str]
) -> None:
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.WEBHOOK, vouched=True)
    let_time_pass(500)
    sweep_due()
    assert told == []
    let_time_pass(101)
    for _time in range(3):
        sweep_due()
        let_time_pass(700)
    assert told == [reference]


def test_s14_a_payer_who_comes_back_just_then_ends_no_sweep(
    sandbox: Sandbox, tea_box: PaymentPage, come_back: Any, told: list[str]
) -> None:
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.WEBHOOK, vouched=True)
    let_time_pass(601)
    pk = Fulfilment.objects.values_list("pk", flat=True).get()
    # The grace is over, and the row is read to tell staff of it.
    with meanwhile("SELECT payments_pages_fulfilment.id", lambda: come_back(reference, tea_box)):
        conclude(pk)
    assert state() == DELIVERED
    assert told == []


def test_s14_a_change_of_pages_neither_ends_the_grace_nor_tells_twice(
    sandbox: Sandbox, tea_box: PaymentPage, told: list[str]
) -> None:
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.WEBHOOK, vouched=True)

    def change_pages(slug: str) -> None:
        sandbox.add_page(name="Another", slug=slug, amount=500)
        sync_pages()
        assert Fulfilment.objects.get().decide_again
        sweep_due()
        assert not Fulfilment.objects.get().decide_again

    change_pages("one")
    assert told == []
    let_time_pass(601)
    change_pages("two")
    assert told == [reference]
    change_pages("three")
    assert told == [reference]


def test_s14_other_holds_are_told_at_once(
    sandbox: Sandbox, tea_box: PaymentPage, come_back: Any, told: list[str]
) -> None:
    reference = sandbox.pay("tea-box", amount=5000)
    come_back(reference, tea_box)
    assert state() == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)
    assert told == [reference]
