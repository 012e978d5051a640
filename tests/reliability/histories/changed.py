"""Change rows as no payment does."""

from django.db import connection

from payments_pages.choices import FulfilmentState
from payments_pages.models import Fulfilment, Transaction, Verification
from tests.reliability.histories.stage import LEFT, LESS, PAID, Stage, fulfilment_of, told


@told()
def attempts_fall(stage: Stage) -> None:
    fulfilment_of(LESS).update(attempts=3)
    fulfilment_of(LESS).update(attempts=2)


@told()
def attempts_to_ask_fall(stage: Stage) -> None:
    Verification.objects.filter(reference=PAID).update(attempts=0)


@told()
def it_leaves_delivered_for_a_moment(stage: Stage) -> None:
    fulfilment_of(PAID).update(state=FulfilmentState.DELIVERING)
    Fulfilment.objects.filter(state=FulfilmentState.DELIVERING).update(
        state=FulfilmentState.DELIVERED
    )


@told()
def it_is_marked_twice(stage: Stage) -> None:
    fulfilment_of(PAID).update(state=FulfilmentState.DELIVERED)


@told()
def a_success_fails_later(stage: Stage) -> None:
    Transaction.objects.filter(reference=PAID).update(status="failed")


@told()
def a_success_is_reversed(stage: Stage) -> None:
    Transaction.objects.filter(reference=PAID).update(status="reversed")


@told()
def a_fulfilment_is_deleted_and_comes_again(stage: Stage) -> None:
    row = fulfilment_of(PAID).get()
    fulfilment_of(PAID)._raw_delete(connection.alias)
    row.save(force_insert=True)


@told()
def a_verification_is_deleted(stage: Stage) -> None:
    Verification.objects.filter(reference=PAID).delete()


@told()
def a_transaction_is_deleted(stage: Stage) -> None:
    Transaction.objects.filter(reference=LEFT).delete()


@told()
def a_row_is_replaced(stage: Stage) -> None:
    """In one statement; PostgreSQL has none, so there in two."""
    columns = "payments_pages_verification WHERE reference = %s"
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.execute(
                f"REPLACE INTO payments_pages_verification SELECT * FROM {columns}", [PAID]
            )
            return
        row = Verification.objects.get(reference=PAID)
        cursor.execute(f"DELETE FROM {columns}", [PAID])
        row.save(force_insert=True)


@told()
def a_fulfilment_is_born_delivered(stage: Stage) -> None:
    mirrored = Transaction.objects.get(reference=LEFT)
    Fulfilment.objects.create(
        transaction=mirrored,
        reference_key=mirrored.reference_key,
        state=FulfilmentState.DELIVERED,
    )
