"""Staff by role, and payments in the states that staff see."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import OperationalError, connection
from django.test import Client

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox

SignIn = Callable[..., Client]


@pytest.fixture
def sign_in() -> SignIn:
    """Sign somebody in who has these permissions and no other."""

    def enter(*codenames: str) -> Client:
        user = User.objects.create_user(f"staff{User.objects.count()}", is_staff=True)
        found = Permission.objects.filter(
            content_type__app_label="payments_pages", codename__in=codenames
        )
        assert {row.codename for row in found} == set(codenames)
        user.user_permissions.set(found)
        client = Client()
        client.force_login(user)
        return client

    return enter


@pytest.fixture
def viewer(sign_in: SignIn) -> Client:
    """Somebody who may see everything but customers, and do nothing."""
    return sign_in("view_transaction", "view_fulfilment", "view_verification", "view_paymentpage")


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("staff", "staff@shop.example", "x"))
    return client


@pytest.fixture
def held(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """A payment of less than the price."""
    reference = sandbox.pay("tea-box", amount=9999)
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.HELD
    return Transaction.objects.get()


@pytest.fixture
def pageless(tea_box: PaymentPage, sandbox: Sandbox) -> Transaction:
    """A payment that nothing says the purpose of."""
    found = confirm_payment(sandbox.pay("tea-box"), door=Door.WEBHOOK, vouched=True)
    assert found.outcome is Outcome.HELD
    return Transaction.objects.get()


@pytest.fixture
def spent(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> Transaction:
    """A payment whose delivery failed as often as it may."""
    configure(HANDLER="tests.support.goods.handlers.fail_first", MAX_ATTEMPTS=1)
    found = confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.HELD
    return Transaction.objects.get(reference=found.reference)


@contextmanager
def busy(words: str) -> Iterator[None]:
    """Let the database refuse, for the moment, each statement in which these words are."""

    def refuse(execute: Any, sql: str, *arguments: Any) -> Any:
        if words in sql.replace(connection.ops.quote_name("x")[0], ""):
            cause = sqlite3.OperationalError("database is locked")
            cause.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise OperationalError("database is locked") from cause
        return execute(sql, *arguments)

    with connection.execute_wrapper(refuse):
        yield


def state_of(transaction: Transaction) -> tuple[str, str]:
    row = Fulfilment.objects.get(transaction=transaction)
    return row.state, row.reason


def said(response: Any) -> str:
    """The messages that staff read after what they did."""
    return " ".join(str(message) for message in response.context["messages"])
