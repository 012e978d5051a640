"""Functions for `SAVE_CARD`: each says whose a card is, or fails in its own way."""

import contextlib
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import IntegrityError, connection
from django.db import transaction as db_transaction

from payments_pages.models import Transaction
from tests.support.goods.models import Good

CALLS: list[str] = []
"""The references that were asked about; a test clears it."""


def by_email(transaction: Transaction) -> User | None:
    """The user whose name is the payer's address."""
    CALLS.append(transaction.reference)
    return User.objects.filter(username=transaction.customer_email).first()


def made(transaction: Transaction) -> User:
    """A new user for a new address."""
    return User.objects.get_or_create(username=transaction.customer_email)[0]


def who_was_given(transaction: Transaction) -> User | None:
    """A user, if the handler has given something already."""
    given = Good.objects.filter(reference=transaction.reference).exists()
    return by_email(transaction) if given else None


def raising(transaction: Transaction) -> User:
    raise RuntimeError(f"no owner for {transaction.customer_email}")


def breaking_a_rule(transaction: Transaction) -> User:
    User.objects.create(username="twin")
    User.objects.create(username="twin")
    raise AssertionError("the database took two")


def with_a_wrong_statement(transaction: Transaction) -> User:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")
    raise AssertionError("the database knew it")


def swallowing_an_error(transaction: Transaction) -> User | None:
    """Go on after an error of the database, as careless code does."""
    with contextlib.suppress(IntegrityError):
        User.objects.create(username="twin")
        User.objects.create(username="twin")
    return by_email(transaction)


def rolling_back(transaction: Transaction) -> User | None:
    db_transaction.set_rollback(True)
    return by_email(transaction)


def a_name(transaction: Transaction) -> Any:
    return transaction.customer_email


def nobody_signed_in(transaction: Transaction) -> Any:
    return AnonymousUser()


def unsaved(transaction: Transaction) -> User:
    return User(username="new")


def deleted(transaction: Transaction) -> User:
    """A user whom somebody has deleted since."""
    user = User.objects.create(username="gone")
    User.objects.filter(pk=user.pk).delete()
    return user


async def later(transaction: Transaction) -> User | None:
    return None


def without_argument() -> None:
    return None
