"""A buyer who is signed in may keep a card, pay another order by it, and have it forgotten."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.test import Client

from example_project.demo.visitor import read_forms
from example_project.shop.models import Licence, Offer, Order
from payments_pages.models import SavedCard
from tests.acceptance.example.conftest import Shop, make_user, signed_in

EMAIL = "layla@example.test"


def buy(shop: Shop, client: Client, offer: Offer, **fields: str) -> Order:
    """Order and pay in the popup, with whatever card."""
    client.post(f"/buy/{offer.pk}/", fields)
    order = Order.objects.latest("pk")
    expected = order.expected
    shop.sandbox.start_checkout(
        expected.reference, amount=expected.amount, currency=expected.currency, email=EMAIL
    )
    shop.sandbox.end_checkout(expected.reference)
    shop.confirm(expected.reference, None)
    assert Licence.objects.filter(order=order).exists()
    return order


@pytest.fixture
def buyer(shop: Shop) -> User:
    return make_user(EMAIL)


@pytest.fixture
def card(shop: Shop, buyer: User) -> SavedCard:
    buy(shop, signed_in(buyer), shop.gift_card(), save_card="on")
    return SavedCard.objects.get()


def order_again(client: Client) -> Order:
    client.post(f"/buy/{Offer.objects.get().pk}/")
    return Order.objects.latest("pk")


def charge(client: Client, order: Order, card: Any) -> Any:
    return client.post(f"/orders/{order.token}/charge/", {"card": card})


def test_a_card_is_kept_for_a_buyer_who_asked_for_it(shop: Shop, buyer: User) -> None:
    client, offer = signed_in(buyer), shop.gift_card()
    (form,) = (
        form for form in read_forms(client.get("/").content.decode()) if "buy" in form.action
    )
    assert "save_card" in form.names
    buy(shop, client, offer)
    assert not SavedCard.objects.exists()
    buy(shop, client, offer, save_card="on")
    card = SavedCard.objects.get()
    assert card.owner == buyer
    shown = client.get("/purchases/").content.decode()
    assert f"{card}</bdi>" in shown
    assert card.authorization_code() not in shown


def test_no_card_is_kept_of_somebody_who_is_not_signed_in(shop: Shop, client: Client) -> None:
    offer = shop.gift_card()
    assert "save_card" not in client.get("/").content.decode()
    buy(shop, client, offer, save_card="on")
    assert not SavedCard.objects.exists()


def test_an_order_is_paid_by_the_card(shop: Shop, buyer: User, card: SavedCard) -> None:
    client = signed_in(buyer)
    order = order_again(client)
    html = client.get(f"/orders/{order.token}/").content.decode()
    (form,) = (form for form in read_forms(html) if form.action.endswith("/charge/"))
    answer = client.post(form.action, dict(form.filled({}, None)))
    licence = Licence.objects.get(order=order)
    paid = licence.fulfilment.transaction
    assert answer["Location"] == f"/payments/result/{paid.token}/"
    assert (paid.amount, paid.reference) == (12050, order.expected.reference)
    again = charge(client, order, card.pk)
    assert again["Location"] == answer["Location"]
    assert Licence.objects.filter(order=order).count() == 1


@pytest.mark.parametrize("who", ["another buyer", "nobody"])
def test_nobody_pays_by_the_card_of_somebody_else(
    shop: Shop, client: Client, card: SavedCard, who: str
) -> None:
    if who == "another buyer":
        client = signed_in(make_user("dana@example.test"))
    order = order_again(client)
    assert str(card) not in client.get(f"/orders/{order.token}/").content.decode()
    answer = charge(client, order, card.pk)
    if who == "nobody":
        assert answer["Location"].startswith("/sign-in/")
    else:
        assert answer.status_code == 404
    assert shop.sandbox.verify_calls(order.expected.reference) == 0


@pytest.mark.parametrize("chosen", ["", "0", "x", "9" * 30, "\u0663"])
def test_a_card_that_is_none_is_not_found(
    shop: Shop, buyer: User, card: SavedCard, chosen: str
) -> None:
    client = signed_in(buyer)
    assert charge(client, order_again(client), chosen).status_code == 404


def test_if_the_charge_has_no_answer_the_buyer_is_told_not_to_pay_again(
    shop: Shop, buyer: User, card: SavedCard, settings: Any
) -> None:
    client = signed_in(buyer)
    order = order_again(client)
    settings.CHARGE_URL = "http://127.0.0.1:9/api/sandbox/charge"
    answer = client.post(f"/orders/{order.token}/charge/", {"card": card.pk}, follow=True)
    assert answer.redirect_chain[-1][0] == f"/orders/{order.token}/"
    assert "Do not pay again" in answer.content.decode()
    assert not Licence.objects.filter(order=order).exists()


@pytest.mark.parametrize("keys", [[], [Fernet.generate_key().decode()]], ids=["none", "another"])
def test_if_the_keys_are_lost_the_buyer_is_asked_for_another_card(
    shop: Shop, buyer: User, card: SavedCard, settings: Any, keys: list[str]
) -> None:
    client = signed_in(buyer)
    order = order_again(client)
    settings.PAYMENTS_PAGES = {**settings.PAYMENTS_PAGES, "CARD_KEYS": keys}
    answer = client.post(f"/orders/{order.token}/charge/", {"card": card.pk}, follow=True)
    assert answer.redirect_chain[-1][0] == f"/orders/{order.token}/"
    assert "Pay with another card." in answer.content.decode()
    assert shop.sandbox.verify_calls(order.expected.reference) == 0


def test_a_card_is_forgotten_by_its_owner_alone(shop: Shop, buyer: User, card: SavedCard) -> None:
    signed_in(make_user("dana@example.test")).post("/cards/forget/", {"card": card.pk})
    assert SavedCard.objects.exists()
    client = signed_in(buyer)
    (form,) = (
        form
        for form in read_forms(client.get("/purchases/").content.decode())
        if form.action == "/cards/forget/"
    )
    assert client.post(form.action, dict(form.filled({}, None)))["Location"] == "/purchases/"
    assert not SavedCard.objects.exists()
