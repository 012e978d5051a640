"""The merchant's code can neither undo nor delete a delivery by saving its row (S13)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError
from django.db.models import ProtectedError

from payments_pages.choices import Door, Outcome
from payments_pages.choices import FulfilmentState as State
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import Event, Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.external import CALLS
from tests.support.goods.handlers import give
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)


def note_and_save(fulfilment: Fulfilment) -> None:
    """Give, and save the field `note` in the usual way of Django."""
    give(fulfilment)
    fulfilment.note = "licence 12"
    fulfilment.save()


def save_too_late(fulfilment: Fulfilment) -> None:
    """Let a later attempt deliver first, then save the row as it was before."""
    CALLS.append(fulfilment)  # type: ignore[arg-type]
    if fulfilment.attempts == 1:
        let_time_pass(3600)
        assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
        fulfilment.note = "the first"
        fulfilment.save()


def forget(fulfilment: Fulfilment) -> None:
    give(fulfilment)
    fulfilment.delete()


@pytest.fixture
def buy(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> Callable[..., Outcome]:
    def run(handler: str, *, atomic: bool = True) -> Outcome:
        configure(
            HANDLER=f"tests.unit.confirmation.test_merchants_writes.{handler}",
            HANDLER_ATOMIC=atomic,
        )
        if sandbox.transaction("PPG-1") is None:
            sandbox.pay("tea-box", reference="PPG-1")
        return confirm_payment("PPG-1", door=Door.CALLBACK, page_token=tea_box.token).outcome

    return run


@pytest.mark.parametrize("atomic", [True, False])
def test_a_handler_that_saves_its_row_writes_the_note_alone(
    buy: Callable[..., Outcome], atomic: bool
) -> None:
    assert buy("note_and_save", atomic=atomic) is Outcome.DELIVERED
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts, row.note) == (State.DELIVERED, 1, "licence 12")
    assert row.delivered_at is not None
    assert row.next_at is None


def test_a_handler_that_was_overtaken_does_not_turn_the_row_back(
    buy: Callable[..., Outcome],
) -> None:
    CALLS.clear()
    buy("save_too_late", atomic=False)
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts, row.note) == (State.DELIVERED, 2, "the first")
    assert row.delivered_at is not None
    let_time_pass(3600)
    assert sweep_due().taken == 0
    assert len(CALLS) == 2
    CALLS.clear()


def test_naming_another_field_is_refused_in_words(buy: Callable[..., Outcome]) -> None:
    buy("note_and_save")
    row = Fulfilment.objects.get()
    row.state = State.PENDING
    for save in (
        lambda: row.save(update_fields=["state", "note"]),
        lambda: Fulfilment.objects.update_or_create(pk=row.pk, defaults={"state": State.PENDING}),
    ):
        with pytest.raises(ValueError, match=r"note.*payments_pages\.staff"):
            save()
    row.save(update_fields=["note"])
    row.save(update_fields=[])
    assert Fulfilment.objects.get().state == State.DELIVERED


def test_a_row_whose_note_was_not_read_is_saved_without_it(buy: Callable[..., Outcome]) -> None:
    buy("note_and_save")
    Fulfilment.objects.only("state").get().save()
    assert Fulfilment.objects.get().note == "licence 12"


def test_a_second_row_for_a_payment_is_still_refused_by_the_database(
    buy: Callable[..., Outcome],
) -> None:
    buy("note_and_save")
    row = Fulfilment.objects.get()
    with pytest.raises(IntegrityError):
        Fulfilment(transaction=row.transaction, reference_key=row.reference_key).save()


def test_a_delivery_is_never_deleted_so_that_it_is_never_made_twice(
    buy: Callable[..., Outcome],
) -> None:
    buy("note_and_save")
    row = Fulfilment.objects.get()
    for delete in (
        row.delete,
        Fulfilment.objects.filter(pk=row.pk).delete,
        Fulfilment.objects.primary().all().delete,
        row.transaction.delete,
    ):
        with pytest.raises(ProtectedError):
            delete()
    with pytest.raises(ProtectedError, match="payments_pages_purge"):
        row.delete()
    assert buy("note_and_save") is Outcome.ALREADY_DELIVERED
    assert Good.objects.count() == 1


def test_a_handler_that_deletes_its_row_is_undone(buy: Callable[..., Outcome]) -> None:
    assert buy("forget") is Outcome.DELIVERY_FAILED
    assert not Good.objects.exists()
    assert Event.objects.filter(kind="delivery_failed").count() == 1
    assert buy("note_and_save") is Outcome.DELIVERED
