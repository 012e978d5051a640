import pytest
from django.db import IntegrityError, transaction

from example_project.shop.handlers import ASKED, FAIL, FAIL_ONCE, deliver
from example_project.shop.models import Licence, Offer
from payments_pages.choices import FulfilmentState, Outcome, Reason
from payments_pages.models import Fulfilment
from payments_pages.testing import let_time_pass
from tests.acceptance.example.conftest import Shop


def test_a_paid_page_gives_one_licence_to_the_payers_address(shop: Shop) -> None:
    page = shop.page()
    reference = shop.buy(page, "layla@example.test")
    licence = Licence.objects.get()
    assert licence.email == "layla@example.test"
    assert licence.offer.page == page
    assert licence.fulfilment.transaction.reference == reference
    assert licence.fulfilment.state == FulfilmentState.DELIVERED


def test_confirming_again_gives_nothing_more(shop: Shop) -> None:
    page = shop.page()
    reference = shop.buy(page)
    again = shop.confirm(reference, page)
    assert again.outcome == Outcome.ALREADY_DELIVERED
    assert Licence.objects.count() == 1


def test_two_payments_give_two_licences_with_different_codes(shop: Shop) -> None:
    page = shop.page()
    shop.buy(page)
    shop.buy(page)
    assert len(set(Licence.objects.values_list("code", flat=True))) == 2


def test_a_page_without_an_offer_is_held_for_staff_and_gives_nothing(shop: Shop) -> None:
    page = shop.page()
    Offer.objects.filter(page=page).delete()
    confirmation = shop.confirm(shop.pay(page), page)
    assert confirmation.outcome == Outcome.HELD
    assert Fulfilment.objects.get().reason == Reason.PERMANENT_ERROR
    assert not Licence.objects.exists()


def test_an_unpaid_reference_gives_nothing(shop: Shop) -> None:
    page = shop.page()
    reference = shop.sandbox.pay(page.slug, status="failed")
    assert shop.confirm(reference, page).outcome == Outcome.NOT_PAID
    assert not Licence.objects.exists()


def test_the_database_refuses_a_second_licence_for_one_fulfilment(shop: Shop) -> None:
    shop.buy(shop.page())
    licence = Licence.objects.get()
    with pytest.raises(IntegrityError), transaction.atomic():
        Licence.objects.create(offer=licence.offer, fulfilment=licence.fulfilment)


def test_a_delivery_that_a_payer_makes_fail_once_succeeds_the_second_time(shop: Shop) -> None:
    page = shop.page()
    reference = shop.sandbox.pay(page.slug, metadata={ASKED: FAIL_ONCE})
    assert shop.confirm(reference, page).outcome == Outcome.DELIVERY_FAILED
    assert "ticket printer" in Fulfilment.objects.get().last_error
    assert not Licence.objects.exists()
    let_time_pass(60)
    assert shop.confirm(reference, page).outcome == Outcome.DELIVERED
    assert Licence.objects.count() == 1


@pytest.mark.parametrize("metadata", ["", "words", [FAIL], {ASKED: ["x"]}, {ASKED: "else"}, None])
def test_any_other_metadata_lets_the_delivery_be(shop: Shop, metadata: object) -> None:
    page = shop.page()
    reference = shop.sandbox.pay(page.slug, metadata=metadata)
    assert shop.confirm(reference, page).outcome == Outcome.DELIVERED


def test_real_money_is_no_rehearsal(shop: Shop) -> None:
    page = shop.page()
    reference = shop.buy(page)
    fulfilment = Fulfilment.objects.get(transaction__reference=reference)
    Licence.objects.all().delete()
    fulfilment.transaction.metadata = {ASKED: FAIL}
    with pytest.raises(TimeoutError):
        deliver(fulfilment)
    fulfilment.transaction.domain = "live"
    deliver(fulfilment)
    assert Licence.objects.count() == 1
