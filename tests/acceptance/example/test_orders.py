import re
from typing import Any

import pytest
import requests
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from example_project.demo.visitor import read_forms
from example_project.shop.models import Licence, Offer, Order
from example_project.shop.orders import place_order
from payments_pages.choices import FulfilmentState, Outcome, Reason, VerificationState
from payments_pages.confirmation import sweep_due
from payments_pages.models import ExpectedPayment, Fulfilment, Verification
from payments_pages.testing import let_time_pass
from tests.acceptance.example.conftest import Shop, signed_in

EMAIL = "payer@example.test"


def buy(client: Client, offer: Offer) -> Order:
    answer = client.post(f"/buy/{offer.pk}/")
    order = Order.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/orders/{order.token}/")
    return order


def pay(shop: Shop, order: Order, **changes: Any) -> str:
    """Pay as a browser does that keeps, or changes, what the order's page says."""
    expected = order.expected
    given = {"amount": expected.amount, "currency": expected.currency, "email": EMAIL, **changes}
    shop.sandbox.start_checkout(expected.reference, **given)
    shop.sandbox.end_checkout(expected.reference)
    return expected.reference


def test_the_storefront_takes_orders_for_what_is_sold_in_a_popup(
    shop: Shop, client: Client
) -> None:
    offer = shop.gift_card()
    html = client.get("/").content.decode()
    assert f'action="/buy/{offer.pk}/"' in html
    assert shop.sandbox.pay_url not in html


def test_an_order_expects_the_pages_price_whatever_the_browser_says(
    shop: Shop, client: Client
) -> None:
    offer = shop.gift_card(amount=5000)
    client.post(f"/buy/{offer.pk}/", {"amount": "1", "currency": "USD"})
    expected = ExpectedPayment.objects.get()
    assert (expected.amount, expected.currency, expected.page) == (5000, "ILS", offer.page)
    assert Order.objects.get().expected == expected


def test_an_order_and_its_expected_payment_are_made_together_or_not_at_all(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**fields: Any) -> None:
        raise IntegrityError("no room")

    offer = shop.gift_card()
    monkeypatch.setattr(Order.objects, "create", refuse)
    with pytest.raises(IntegrityError):
        place_order(offer)
    assert not ExpectedPayment.objects.exists()


def test_only_what_is_sold_in_a_popup_can_be_ordered(shop: Shop, client: Client) -> None:
    elsewhere = Offer.objects.get(page=shop.page())
    choosing = shop.gift_card(amount=None)
    for offer in (elsewhere.pk, choosing.pk, 0):
        assert client.post(f"/buy/{offer}/").status_code == 404
    assert client.get(f"/buy/{elsewhere.pk}/").status_code == 405
    with pytest.raises(ValueError, match="no price"):
        place_order(choosing)
    assert f'href="{shop.sandbox.pay_url}/gift-card"' in client.get("/").content.decode()


def test_ordering_needs_the_shops_own_form(shop: Shop) -> None:
    offer = shop.gift_card()
    assert Client(enforce_csrf_checks=True).post(f"/buy/{offer.pk}/").status_code == 403


# The order's page


def test_the_form_alone_takes_the_payer_to_the_service_and_back(shop: Shop, client: Client) -> None:
    order = buy(client, shop.gift_card())
    html = client.get(f"/orders/{order.token}/").content.decode()
    form = next(form for form in read_forms(html) if "reference" in form.names)
    assert form.action == shop.sandbox.start_url
    sent = form.filled({"email": EMAIL}, None)
    with requests.Session() as browser:
        browser.trust_env = False
        started = browser.post(form.action, data=sent, allow_redirects=False)
        ended = browser.post(started.headers["Location"], {"choice": "pay"}, allow_redirects=False)
    back = ended.headers["Location"]
    assert back.startswith("http://testserver/payments/callback/?")
    assert client.get(back.removeprefix("http://testserver"), follow=True).status_code == 200
    assert Licence.objects.get().order == order


def test_the_page_lets_in_the_service_and_nobody_else(shop: Shop, client: Client) -> None:
    order = buy(client, shop.gift_card())
    answer = client.get(f"/orders/{order.token}/")
    policy = answer["Content-Security-Policy"]
    origin = shop.sandbox.inline_url.removesuffix("/inline.js")
    assert f"script-src 'self' {origin};" in policy
    assert f"frame-src {origin};" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    html = answer.content.decode()
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", html)
    assert "no-store" in answer["Cache-Control"]


def test_a_key_that_is_secret_is_never_on_the_page(shop: Shop, client: Client) -> None:
    order = buy(client, shop.gift_card())
    html = client.get(f"/orders/{order.token}/").content.decode()
    assert shop.sandbox.public_key in html
    assert shop.sandbox.secret_key not in html


@pytest.mark.parametrize(("language", "text"), [("ar", "ادفع"), ("he", "לתשלום")])
def test_the_order_speaks_the_visitors_language(
    shop: Shop, client: Client, language: str, text: str
) -> None:
    order = buy(client, shop.gift_card())
    html = client.get(f"/orders/{order.token}/", headers={"Accept-Language": language})
    assert f">{text}</button>" in html.content.decode()


def test_a_buyer_who_is_signed_in_need_not_write_the_address(shop: Shop) -> None:
    client = signed_in(User.objects.create_user("layla", "layla@example.test"))
    order = buy(client, shop.gift_card())
    assert 'value="layla@example.test"' in client.get(f"/orders/{order.token}/").content.decode()


def test_a_paid_order_cannot_be_paid_again(shop: Shop, client: Client) -> None:
    order = buy(client, shop.gift_card())
    shop.confirm(pay(shop, order), None)
    html = client.get(f"/orders/{order.token}/").content.decode()
    token = Licence.objects.get().fulfilment.transaction.token
    assert f'href="/payments/result/{token}/"' in html
    assert shop.sandbox.start_url not in html


def test_an_order_of_nobody_is_not_found(shop: Shop, client: Client) -> None:
    answer = client.get("/orders/00000000-0000-4000-8000-000000000000/")
    assert answer.status_code == 404


# The delivery


def test_a_paid_order_gives_one_licence_and_names_it(shop: Shop, client: Client) -> None:
    order = buy(client, shop.gift_card())
    reference = pay(shop, order)
    assert shop.confirm(reference, None).outcome == Outcome.DELIVERED
    assert shop.confirm(reference, None).outcome == Outcome.ALREADY_DELIVERED
    licence = Licence.objects.get()
    assert (licence.order, licence.offer, licence.email) == (order, order.offer, EMAIL)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"amount": 1}, Reason.AMOUNT_MISMATCH), ({"currency": "JOD"}, Reason.CURRENCY_MISMATCH)],
)
def test_what_the_browser_changed_is_held(
    shop: Shop, client: Client, changes: dict[str, Any], reason: str
) -> None:
    order = buy(client, shop.gift_card())
    assert shop.confirm(pay(shop, order, **changes), None).outcome == Outcome.HELD
    assert Fulfilment.objects.get().reason == reason
    assert not Licence.objects.exists()


def test_metadata_of_the_browser_cannot_choose_what_is_given(shop: Shop, client: Client) -> None:
    shop.page("car", name="Car", amount=12050)
    order = buy(client, shop.gift_card())
    shop.confirm(pay(shop, order, metadata={"slug": "car"}), None)
    assert not Licence.objects.exclude(order=order).exists()


def test_an_order_without_its_offer_page_still_finds_the_order(shop: Shop, client: Client) -> None:
    order = buy(client, shop.gift_card())
    ExpectedPayment.objects.update(page=None)
    shop.confirm(pay(shop, order), None)
    assert Licence.objects.get().order == order


def test_the_database_refuses_a_second_licence_for_one_order(shop: Shop, client: Client) -> None:
    page = shop.page()
    order = buy(client, shop.gift_card())
    shop.confirm(pay(shop, order), None)
    shop.buy(page)
    other = Licence.objects.get(order=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        Licence.objects.filter(pk=other.pk).update(order=order)


def test_orders_are_shown_in_the_admin_and_changed_by_nobody(shop: Shop, client: Client) -> None:
    order = buy(client, shop.gift_card())
    staff = signed_in(User.objects.create_superuser("root", "root@example.test"))
    assert order.expected.reference in staff.get("/admin/shop/order/").content.decode()
    assert "icon-no" in staff.get("/admin/shop/order/").content.decode()
    shop.confirm(pay(shop, order), None)
    assert "icon-yes" in staff.get("/admin/shop/order/").content.decode()
    assert staff.get(f"/admin/shop/order/{order.pk}/change/").status_code == 200
    assert staff.post(f"/admin/shop/order/{order.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Fulfilment.objects.get().state == FulfilmentState.DELIVERED


def test_an_order_that_is_paid_twice_gives_once_and_the_second_payment_is_held(
    shop: Shop, client: Client
) -> None:
    shop.gift_card()
    client.post(f"/buy/{Offer.objects.get().pk}/")
    order = Order.objects.get()
    form = client.get(f"/orders/{order.token}/").context["fields"]
    requests.post(
        shop.sandbox.start_url,
        data={**form, "email": "payer@example.test"},
        allow_redirects=False,
        timeout=5,
    )
    (started,) = shop.sandbox.state.transactions()
    requests.post(
        f"{shop.sandbox.start_url.removesuffix('start')}{started.access_code}",
        data={"choice": "twice"},
        allow_redirects=False,
        timeout=5,
    )
    first, second = (stored.data["reference"] for stored in shop.sandbox.state.transactions())
    assert shop.confirm(first, None).outcome == Outcome.DELIVERED
    assert shop.confirm(second, None).outcome == Outcome.HELD
    held = Fulfilment.objects.get(transaction__reference=second)
    assert held.reason == Reason.DUPLICATE_PAYMENT
    assert Licence.objects.get().order == order


def test_an_order_that_nobody_paid_needs_no_attention(shop: Shop, client: Client) -> None:
    buy(client, shop.gift_card(amount=5000))
    for seconds in (200, 3600):
        let_time_pass(seconds)
        sweep_due()
    assert Verification.objects.get().state == VerificationState.UNKNOWN
    manager = signed_in(User.objects.create_superuser("manager"))
    shown = manager.get("/admin/").content.decode()
    assert "Nothing needs attention." in shown
