import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import translation

from example_project.shop.models import Kind, Offer, validate_translations
from payments_pages.models import PaymentPage
from payments_pages.pages import set_active, update_page
from tests.acceptance.example.conftest import Shop


def test_every_new_page_is_offered_once_and_edits_stay(shop: Shop) -> None:
    page = shop.page()
    offer = Offer.objects.get(page=page)
    offer.kind = Kind.TICKET
    offer.save()
    update_page(page, name="Green tea box")
    assert Offer.objects.get().kind == Kind.TICKET


def test_a_page_that_the_service_does_not_have_yet_is_not_offered(shop: Shop) -> None:
    PaymentPage.objects.create(name="Draft", slug="draft", slug_key="draft")
    assert not Offer.objects.exists()


def test_a_name_comes_in_the_readers_language_or_as_the_page_has_it(shop: Shop) -> None:
    offer = Offer.objects.get(page=shop.page(name="Tea box", description="Forty bags."))
    offer.names = {"ar": "علبة شاي"}
    with translation.override("ar"):
        assert (offer.name, offer.description) == ("علبة شاي", "Forty bags.")
    with translation.override("he"):
        assert offer.name == "Tea box"


@pytest.mark.parametrize("value", [["ar"], {"ar": 1}, "text", None])
def test_translations_are_texts_by_language(value: object) -> None:
    with pytest.raises(ValidationError):
        validate_translations(value)


def test_deactivating_takes_the_offer_off_the_shelf(shop: Shop, client: Client) -> None:
    page = shop.page(name="Tea box")
    assert "Tea box" in client.get("/").content.decode()
    set_active(page, active=False)
    assert "Tea box" not in client.get("/").content.decode()


def test_a_page_of_another_site_is_not_put_on_the_shelf(shop: Shop) -> None:
    page = shop.page()
    Offer.objects.all().delete()
    page.redirect_url = "https://another-site.example/payments/callback/"
    page.save()
    assert not Offer.objects.exists()
