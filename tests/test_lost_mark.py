"""InnoDB undoes a whole transaction on a deadlock, and goes on as if nothing had been."""

from typing import Any

import pytest
from django.db import connection

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from tests.goods.handlers import give
from tests.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)


def swallow_a_rollback(fulfilment: Fulfilment) -> None:
    """Do what is left of a handler that catches a deadlock's error and then gives the goods."""
    if fulfilment.attempts == 1:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")
    give(fulfilment)


@pytest.mark.skipif(
    "connection.vendor != 'mysql'", reason="only InnoDB rolls back under a running transaction"
)
def test_a_mark_that_was_lost_takes_the_goods_with_it(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER=f"{__name__}.swallow_a_rollback")
    reference = sandbox.pay("tea-box")
    first = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert first.outcome is Outcome.DELIVERY_FAILED
    assert Good.objects.count() == 0
    second = confirm_payment(reference, door=Door.CALLBACK)
    assert second.outcome is Outcome.DELIVERED
    assert Good.objects.count() == 1
