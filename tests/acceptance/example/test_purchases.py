import re
import uuid
from typing import Any

import pytest
from django.test import Client

from example_project.settings import PAYMENTS_PAGES
from example_project.shop.models import Licence
from example_project.shop.views import next_url
from payments_pages.models import Transaction
from tests.acceptance.example.conftest import Shop, make_user, signed_in

MERCHANT = PAYMENTS_PAGES["MERCHANT"]


def test_an_anonymous_visitor_is_asked_to_sign_in(shop: Shop, client: Client) -> None:
    answer = client.get("/purchases/")
    assert answer.status_code == 302
    assert answer["Location"] == "/sign-in/?next=/purchases/"


def test_a_buyer_sees_own_purchases_only(shop: Shop) -> None:
    page = shop.page()
    own = shop.buy(page, "layla@example.test")
    other = shop.buy(page, "dana@example.test")
    html = signed_in(make_user("layla@example.test")).get("/purchases/").content.decode()
    assert own in html
    assert "120.50\u00a0ILS" in html
    assert other not in html
    assert "dana@example.test" not in html


def test_upper_and_lower_case_are_one_address(shop: Shop) -> None:
    reference = shop.buy(shop.page(), "Layla@Example.test")
    html = signed_in(make_user("layla@example.test")).get("/purchases/").content.decode()
    assert reference in html


@pytest.mark.parametrize("address", ["jose@example.test", "layla@example.tes", "%@example.test"])
def test_an_address_that_is_only_similar_sees_nothing(shop: Shop, address: str) -> None:
    page = shop.page()
    references = [shop.buy(page, email) for email in ("josé@example.test", "layla@example.test")]
    html = signed_in(make_user(address)).get("/purchases/").content.decode()
    assert not any(reference in html for reference in references)


def test_a_user_without_an_address_does_not_see_licences_without_one(shop: Shop) -> None:
    reference = shop.buy(shop.page())
    Licence.objects.update(email="")
    html = signed_in(make_user("")).get("/purchases/").content.decode()
    assert reference not in html
    assert "Nothing has been bought" in html


def test_staff_see_all_purchases(shop: Shop) -> None:
    page = shop.page()
    references = [shop.buy(page, f"{name}@example.test") for name in ("layla", "dana")]
    html = (
        signed_in(make_user("staff@example.test", staff=True)).get("/purchases/").content.decode()
    )
    assert all(reference in html for reference in references)
    assert "dana@example.test" in html


def test_licences_cannot_be_changed_in_the_admin_even_by_a_superuser(shop: Shop) -> None:
    shop.buy(shop.page())
    licence = Licence.objects.get()
    user = make_user("root@example.test", staff=True)
    user.is_superuser = True
    user.save()
    client = signed_in(user)
    address = f"/admin/shop/licence/{licence.pk}"
    assert client.get(f"{address}/change/").status_code == 200
    assert client.post(f"{address}/change/", {"code": "X"}).status_code == 403
    assert client.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    assert client.get("/admin/shop/licence/add/").status_code == 403
    assert client.get(f"/admin/shop/licence/?q={licence.code}").status_code == 200


def test_a_payer_goes_on_from_the_result_to_what_was_bought(shop: Shop, configure: Any) -> None:
    configure(MERCHANT=MERCHANT)
    reference = shop.buy(shop.page(), "layla@example.test")
    payment = Transaction.objects.get(reference=reference)
    result = Client().get(f"/payments/result/{payment.token}/").content.decode()
    (way_on,) = re.findall(r'class="pp-button" href="([^"]+)"', result)
    assert "See your purchase" in result
    bought = Client().get(way_on)
    assert bought.status_code == 200
    licence = Licence.objects.get(fulfilment__transaction=payment)
    assert licence.code in bought.content.decode()
    assert "layla" not in bought.content.decode(), "whoever has the address reads no address"
    assert Client().get(f"/purchases/{uuid.uuid4()}/").status_code == 404


def test_while_nothing_was_given_the_way_on_is_the_shop(shop: Shop) -> None:
    reference = shop.pay(shop.page())
    shop.confirm(reference, None)
    assert not Licence.objects.exists()
    assert next_url(Transaction.objects.get(reference=reference)) == "/"
