"""A site that saves cards, and payers who pay with them."""

from collections.abc import Callable
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User

from payments_pages import testing
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.goods import owners

OWNERS = "tests.support.goods.owners"
CODE = "AUTH_LEAKCODE1"
NOOR = "noor@example.test"


def new_key() -> str:
    return Fernet.generate_key().decode()


def card(code: str = CODE, **fields: Any) -> dict[str, Any]:
    """What the service says of a card; None takes a field out."""
    found = {
        "authorization_code": code,
        "bin": "408408",
        "last4": "4081",
        "exp_month": "12",
        "exp_year": "2030",
        "channel": "card",
        "card_type": "visa DEBIT",
        "bank": "Bank of Palestine",
        "country_code": "PS",
        "brand": "visa",
        "reusable": True,
        "signature": "SIG_one",
        "account_name": None,
        **fields,
    }
    return {name: value for name, value in found.items() if value is not None}


@pytest.fixture(autouse=True)
def saving(sandbox: Sandbox, configure: Any) -> None:
    owners.CALLS.clear()
    configure(SAVE_CARD=f"{OWNERS}.by_email", CARD_KEYS=[new_key()])


@pytest.fixture
def noor(transactional_db: None) -> User:
    return User.objects.create_user(NOOR, NOOR)


Pay = Callable[..., str]


@pytest.fixture
def pay(sandbox: Sandbox, tea_box: PaymentPage) -> Pay:
    """Pay by a card and come back; return the reference."""

    def run(*, email: str = NOOR, status: str = "success", **authorization: Any) -> str:
        more = {name: authorization.pop(name) for name in ("paid_at",) if name in authorization}
        return testing.pay(
            sandbox,
            tea_box,
            email=email,
            status=status,
            authorization=card(**authorization),
            **more,
        ).reference

    return run
