"""One payment has one key for ever, also in a database that has lost its newest rows."""

import io
from typing import Any
from uuid import UUID

import pytest
from django.core import serializers
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.models.fulfilments import derive_idempotency_key
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from tests.support.goods.external import CALLS

pytestmark = pytest.mark.django_db(transaction=True)


EXPECTED = UUID("6c99c1b2-b3fd-5107-95a1-b169e4adf90c")
"""The key of PPG-1012 in test mode. It must never change."""


def lose_the_newest_rows() -> None:
    """Delete what was written since a backup, as its restoring does. The service still has it."""
    for model in (Event, Fulfilment, Transaction, Verification):
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {model._meta.db_table}")


@pytest.fixture
def pay(sandbox: Sandbox, tea_box: PaymentPage, configure: Any) -> Any:
    def run(**keys: Any) -> Outcome:
        configure(
            **{"HANDLER": "tests.support.goods.external.call", "HANDLER_ATOMIC": False, **keys}
        )
        if sandbox.transaction("PPG-1012") is None:
            sandbox.pay("tea-box", reference="PPG-1012")
        return confirm_payment("PPG-1012", door=Door.CALLBACK, page_token=tea_box.token).outcome

    CALLS.clear()
    return run


def test_a_payment_goes_out_under_the_same_key_after_a_restored_backup(pay: Any) -> None:
    assert pay() is Outcome.DELIVERED
    lose_the_newest_rows()
    assert pay() is Outcome.DELIVERED
    assert [call.key for call in CALLS] == [EXPECTED, EXPECTED]


def test_the_key_is_this_one_for_ever(settings: Any) -> None:
    assert derive_idempotency_key(reference_key("PPG-1012")) == EXPECTED


def test_the_other_mode_and_another_reference_have_another_key(configure: Any) -> None:
    assert derive_idempotency_key(reference_key("PPG-1013")) != EXPECTED
    configure(SECRET_KEY="sk_live_suite")
    assert derive_idempotency_key(reference_key("PPG-1012")) != EXPECTED


def paid() -> Transaction:
    return Transaction.objects.create(
        reference="PPG-1012", reference_key=reference_key("PPG-1012"), status="success",
        amount=1, currency="ILS", domain="test", verified_at=timezone.now(),
    )  # fmt: skip


@pytest.mark.parametrize("way", ["save", "create", "bulk_create"])
def test_every_way_to_make_a_row_gives_it_that_key(way: str) -> None:
    """The caller cannot choose the key: it is derived from the payment."""
    row = Fulfilment(
        transaction=paid(),
        reference_key=reference_key("PPG-1012"),
        idempotency_key=UUID(int=7),
        state=FulfilmentState.HELD,
    )
    if way == "save":
        row.save()
    elif way == "create":
        Fulfilment.objects.create(
            transaction=row.transaction, reference_key=row.reference_key, state=row.state
        )
    else:
        Fulfilment.objects.bulk_create([row])
    assert Fulfilment.objects.get().idempotency_key == EXPECTED


@pytest.mark.parametrize("page", [True, False])
def test_so_it_is_for_what_is_accepted_and_for_what_is_held(
    sandbox: Sandbox, tea_box: PaymentPage, page: bool
) -> None:
    sandbox.pay("tea-box", reference="PPG-1012")
    confirm_payment("PPG-1012", door=Door.CALLBACK, page_token=tea_box.token if page else None)
    assert Fulfilment.objects.get().idempotency_key == EXPECTED


def test_a_row_that_is_loaded_from_a_file_keeps_the_key_it_was_delivered_under() -> None:
    row = Fulfilment.objects.create(
        transaction=paid(), reference_key=reference_key("PPG-1012"), state=FulfilmentState.HELD
    )
    Fulfilment.objects.update(idempotency_key=UUID(int=7))
    out = io.StringIO()
    call_command("dumpdata", "payments_pages.fulfilment", stdout=out)
    Fulfilment.objects.filter(pk=row.pk)._raw_delete(connection.alias)
    for found in serializers.deserialize("json", out.getvalue()):
        found.save()
    assert Fulfilment.objects.get().idempotency_key == UUID(int=7)
