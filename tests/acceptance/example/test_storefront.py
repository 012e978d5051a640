import re
from typing import Any

import pytest
import requests
from django.contrib.staticfiles import finders
from django.test import Client

from example_project.shop.models import Offer
from payments_pages.models import PaymentPage
from payments_pages.pages import public_url
from tests.acceptance.example.conftest import Shop


def test_an_offer_shows_its_price_and_leads_to_the_hosted_page(shop: Shop, client: Client) -> None:
    page = shop.page(amount=12050)
    html = client.get("/").content.decode()
    assert '<bdi dir="ltr">120.50\u00a0ILS</bdi>' in html
    assert f'href="{public_url(page)}"' in html


def test_jod_has_two_decimals(shop: Shop, client: Client) -> None:
    shop.sandbox.set_account(currency="JOD")
    shop.page(amount=1250)
    assert "12.50\u00a0JOD" in client.get("/").content.decode()


def test_a_page_without_a_price_says_that_the_payer_chooses(shop: Shop, client: Client) -> None:
    shop.page(amount=None)
    assert "You choose the amount" in client.get("/").content.decode()


def test_a_page_that_is_gone_at_the_service_is_not_for_sale(shop: Shop, client: Client) -> None:
    page = shop.page(name="Tea box")
    PaymentPage.objects.filter(pk=page.pk).update(missing_since="2026-01-01T00:00:00Z")
    assert "Tea box" not in client.get("/").content.decode()


def test_names_are_escaped(shop: Shop, client: Client) -> None:
    shop.page(name="<script>alert(1)</script>")
    html = client.get("/").content.decode()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("language", "direction", "heading"),
    [("en", "ltr", "For sale"), ("ar", "rtl", "للبيع"), ("he", "rtl", "למכירה")],
)
def test_the_page_speaks_the_visitors_language_in_its_direction(
    shop: Shop, client: Client, language: str, direction: str, heading: str
) -> None:
    html = client.get("/", headers={"Accept-Language": language}).content.decode()
    assert f'<html lang="{language}" dir="{direction}">' in html
    assert f"<h1>{heading}</h1>" in html


def test_the_language_switch_is_remembered(shop: Shop, client: Client) -> None:
    offer = Offer.objects.get(page=shop.page(name="Tea box"))
    offer.names = {"he": "קופסת תה"}
    offer.save()
    answer = client.post("/i18n/setlang/", {"language": "he", "next": "/"}, follow=True)
    assert "קופסת תה" in answer.content.decode()


@pytest.mark.parametrize("path", ["/", "/sign-in/"])
def test_pages_hold_no_inline_script_or_style(shop: Shop, client: Client, path: str) -> None:
    shop.page()
    html = client.get(path).content.decode()
    assert not re.search(r"<script|<style|\sstyle=|\son[a-z]+=", html)


@pytest.fixture
def demo(shop: Shop, settings: Any) -> str:
    """The shop as the demo runs it; returns the sandbox's address."""
    settings.SHOP_SANDBOX_URL = shop.sandbox.home_url
    return shop.sandbox.home_url


def test_the_demo_says_what_it_is_where_staff_go_and_what_to_try(demo: str, client: Client) -> None:
    html = client.get("/").content.decode()
    assert "This is a demo" in html
    assert 'href="/admin/"' in html
    assert f'href="{demo}"' in html
    assert requests.get(demo, timeout=5).status_code == 200


def test_the_note_is_hidden_on_request_and_stays_so(demo: str, client: Client) -> None:
    answer = client.post("/hide-note/", follow=True)
    assert answer.redirect_chain == [("/", 302)]
    assert "This is a demo" not in answer.content.decode()
    assert "This is a demo" not in client.get("/").content.decode()
    assert client.get("/hide-note/").status_code == 405


def test_a_shop_that_is_no_demo_says_nothing_of_the_kind(shop: Shop, client: Client) -> None:
    assert "demo" not in client.get("/").content.decode()


def test_the_demos_hosted_pages_speak_the_shops_language(
    demo: str, shop: Shop, client: Client
) -> None:
    address = public_url(shop.page())
    html = client.get("/", headers={"Accept-Language": "ar"}).content.decode()
    assert f'href="{address}?lang=ar"' in html
    assert '<html lang="ar" dir="rtl">' in requests.get(f"{address}?lang=ar", timeout=5).text


def test_no_page_asks_for_an_icon_in_vain(shop: Shop, client: Client) -> None:
    """Browsers ask for this one on pages that name none: the admin's."""
    answer = client.get("/favicon.ico")
    assert answer.status_code == 302
    assert finders.find(answer["Location"].removeprefix("/static/")) is not None
