"""Handlers for the suite: each breaks, or does not, in its own way."""

import contextlib
import os
import signal
import time

from django.conf import settings
from django.db import DatabaseError
from django.db import transaction as db_transaction

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import PermanentFulfilmentError
from payments_pages.models import Fulfilment, Verification
from tests.support.goods.models import Good


def give(fulfilment: Fulfilment) -> None:
    Good.objects.create(
        reference=fulfilment.transaction.reference,
        key=fulfilment.idempotency_key,
        attempt=fulfilment.attempts,
    )


deliver = give


def refuse(fulfilment: Fulfilment) -> None:
    """Write, then fail for good."""
    give(fulfilment)
    raise PermanentFulfilmentError("sold out")


def fail_first(fulfilment: Fulfilment) -> None:
    """Write, then fail on the first attempt: the write must be rolled back."""
    give(fulfilment)
    if fulfilment.attempts == 1:
        raise RuntimeError("the first attempt fails")


def fail_always(fulfilment: Fulfilment) -> None:
    give(fulfilment)
    key = settings.PAYMENTS_PAGES["SECRET_KEY"]
    raise RuntimeError(f"no luck for {fulfilment.transaction.customer_email} {key}")


def fail_deep(fulfilment: Fulfilment) -> None:
    """Fail far below the handler, because of an error that quotes the payer."""

    def sink(depth: int) -> None:
        if depth:
            sink(depth - 1)
        cause = ValueError(fulfilment.transaction.customer_email)
        raise KeyError(fulfilment.transaction.customer_email) from cause

    sink(30)


def die_first(fulfilment: Fulfilment) -> None:
    """Write, then take the whole process down on the first attempt.

    Of a first attempt in the record nothing is left, so that the next one is the first again: but
    then the service has been asked twice.
    """
    give(fulfilment)
    asked = Verification.objects.get(reference_key=fulfilment.reference_key).attempts
    if asked == fulfilment.attempts == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def slow(fulfilment: Fulfilment) -> None:
    give(fulfilment)
    time.sleep(0.5)


def undo_silently(fulfilment: Fulfilment) -> None:
    """Write, mark the transaction for rollback and return as if all were well."""
    give(fulfilment)
    if fulfilment.attempts == 1:
        db_transaction.set_rollback(True)


def swallow_error(fulfilment: Fulfilment) -> None:
    """Write, break a constraint and look away."""
    give(fulfilment)
    if fulfilment.attempts == 1:
        with contextlib.suppress(DatabaseError):
            Fulfilment(
                transaction=fulfilment.transaction, reference_key=fulfilment.reference_key
            ).save(force_insert=True)


def recover_properly(fulfilment: Fulfilment) -> None:
    """Break a constraint inside a savepoint, as one should, and write."""
    with contextlib.suppress(DatabaseError), db_transaction.atomic():
        Fulfilment(transaction=fulfilment.transaction, reference_key=fulfilment.reference_key).save(
            force_insert=True
        )
    give(fulfilment)


def mail_after_commit(fulfilment: Fulfilment) -> None:
    """Write, and have something fail once that is committed."""

    def send_mail() -> None:
        raise OSError("the mail server is down")

    give(fulfilment)
    db_transaction.on_commit(send_mail)


def enter_again(fulfilment: Fulfilment) -> None:
    """Write, and confirm from within the delivery."""
    give(fulfilment)
    confirm_payment(fulfilment.transaction.reference, door=Door.CONFIRM)


not_callable = "a handler"
