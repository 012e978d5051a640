"""Saved cards where users, or our rows, live in another database."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.test import Client

from payments_pages import testing
from payments_pages.models import PaymentPage, SavedCard
from payments_pages.sandbox import Sandbox
from payments_pages.staff import forget_cards
from tests.support.goods.models import Good

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "replica", "payments"]),
]

NOOR = "noor@example.test"


@pytest.fixture(params=["OwnAlias", "OwnAliasAlone", "ReadsFromReplica"])
def router(request: Any, settings: Any) -> str:
    settings.DATABASE_ROUTERS = [f"tests.integration.routing.routers.{request.param}"]
    return str(request.param)


@pytest.fixture
def noor(router: str, configure: Any, sandbox: Sandbox, tea_box: PaymentPage) -> User:
    """A user, in the default database, who has paid with a card."""
    configure(
        SAVE_CARD="tests.support.goods.owners.by_email",
        CARD_KEYS=[Fernet.generate_key().decode()],
    )
    user = User.objects.create_user(NOOR)
    testing.pay(sandbox, tea_box, email=NOOR)
    assert Good.objects.using("default" if router == "ReadsFromReplica" else "payments").exists()
    return user


def cards(router: str) -> int:
    kept, other = (
        ("default", "payments") if router == "ReadsFromReplica" else ("payments", "default")
    )
    assert not SavedCard.objects.using(other).exists()
    return SavedCard.objects.using(kept).count()


def test_a_card_is_saved_once_where_our_rows_are(
    noor: User, router: str, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    testing.pay(sandbox, tea_box, email=NOOR)
    assert cards(router) == 1
    card = SavedCard.objects.primary().get()
    assert card.owner == noor
    assert card.authorization_code().startswith("AUTH_")


def test_with_the_user_the_cards_go(noor: User, router: str) -> None:
    noor.delete()
    assert cards(router) == 0


def test_forgetting_reaches_them(noor: User, router: str) -> None:
    assert forget_cards(noor) == 1
    assert cards(router) == 0


def test_staff_see_the_owner_of_a_card(noor: User, router: str, client: Client) -> None:
    if router == "ReadsFromReplica":
        pytest.skip("the replica of this test never catches up")
    client.force_login(User.objects.create_superuser("boss"))
    for query in ({}, {"q": NOOR}):
        page = client.get("/admin/payments_pages/savedcard/", query).content.decode()
        assert NOOR in page
        assert "visa" in page
    pk = SavedCard.objects.primary().get().pk
    assert NOOR in client.get(f"/admin/payments_pages/savedcard/{pk}/change/").content.decode()
