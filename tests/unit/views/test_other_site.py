"""Two sites on one account: each delivers what is paid on its own pages, and nothing else (D07)."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import Event, ExpectedPayment, Fulfilment, PaymentPage, Transaction
from payments_pages.pages import forget_seller, sell_elsewhere, sell_here, sync_pages
from payments_pages.sandbox import Sandbox
from payments_pages.signals import fulfilment_held
from payments_pages.staff import Attention, read_attention
from payments_pages.testing import let_time_pass
from tests.conftest import mirror_page
from tests.support.goods.models import Good
from tests.support.webhook_signing import event, post, said

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_webhook")]

B = "https://shop-b.example"
TOKEN = "5f0c7a52-5b5e-4d44-9f55-0d6fb0d1a0b1"


@pytest.fixture
def course_b(sandbox: Sandbox) -> PaymentPage:
    """Shop B's page, as shop A has it after a sync."""
    sandbox.add_page(
        name="Course B",
        slug="course-b",
        amount=10000,
        redirect_url=f"{B}/payments/callback/{TOKEN}/",
        metadata={"payments_pages_token": TOKEN},
    )
    sync_pages()
    page = PaymentPage.objects.get()
    assert str(page.token) == TOKEN
    return page


def held() -> tuple[str, str]:
    row = Fulfilment.objects.get()
    return row.state, row.reason


@pytest.mark.parametrize("metadata", ["referrer", "page_id", "token", "slug"])
def test_what_is_paid_on_another_sites_page_is_not_given(
    sandbox: Sandbox, course_b: PaymentPage, metadata: str
) -> None:
    named = {
        "referrer": {"referrer": f"{sandbox.pay_url}/course-b"},
        "page_id": {"page_id": course_b.remote_id},
        "token": {"payments_pages_token": TOKEN},
        "slug": {"slug": "course-b"},
    }
    reference = sandbox.pay("course-b", metadata=named[metadata])
    assert said(post(event(reference))) == {"outcome": "held"}
    assert held() == (FulfilmentState.HELD, Reason.OTHER_SITE)
    assert not Good.objects.exists()
    sweep_due()
    assert held() == (FulfilmentState.HELD, Reason.OTHER_SITE)
    assert Event.objects.filter(kind="held").count() == 1


def test_a_payer_who_comes_back_by_its_token_gets_nothing_either(
    sandbox: Sandbox, course_b: PaymentPage, come_back: Any
) -> None:
    reference = sandbox.pay("course-b")
    assert said(post(event(reference))) == {"outcome": "held"}
    assert held() == (FulfilmentState.HELD, Reason.UNATTRIBUTED)
    for _time in range(3):
        assert come_back(reference, course_b).status_code == 303
    assert held() == (FulfilmentState.HELD, Reason.OTHER_SITE)
    assert not Good.objects.exists()


def test_nobody_is_called_for_what_another_site_delivers(
    sandbox: Sandbox, course_b: PaymentPage
) -> None:
    told: list[Fulfilment] = []

    def listen(fulfilment: Fulfilment, **_more: Any) -> None:
        told.append(fulfilment)

    fulfilment_held.connect(listen)
    try:
        post(event(sandbox.pay("course-b", metadata={"slug": "course-b"})))
        let_time_pass(60)
        post(event(Transaction.objects.get().reference, "refund.pending"))
    finally:
        fulfilment_held.disconnect(listen)
    assert told == []
    assert read_attention().held == 0
    assert read_attention() == Attention()


@pytest.mark.parametrize("why", ["moved", "unknown"])
def test_staff_are_called_where_no_other_site_is_known_to_deliver(
    sandbox: Sandbox, course_b: PaymentPage, configure: Any, settings: Any, why: str
) -> None:
    """A page that this site had made, under its old address; or nothing names this site."""
    if why == "moved":
        PaymentPage.objects.update(made_here=True)
    else:
        configure(SITE_URL=None)
        settings.ALLOWED_HOSTS = ["*"]
    told: list[str] = []

    def listen(fulfilment: Fulfilment, **_more: Any) -> None:
        told.append(fulfilment.reason)

    fulfilment_held.connect(listen)
    try:
        post(event(sandbox.pay("course-b", metadata={"slug": "course-b"})))
    finally:
        fulfilment_held.disconnect(listen)
    assert told == [Reason.OTHER_SITE]
    assert read_attention().held == 1


def test_its_own_pages_are_delivered_as_ever(sandbox: Sandbox, course_b: PaymentPage) -> None:
    for slug, redirect_url in (("ours", "https://testserver/thanks"), ("blank", None)):
        sandbox.add_page(slug=slug, amount=10000, redirect_url=redirect_url)
    sync_pages()
    for slug in ("ours", "blank"):
        reference = sandbox.pay(slug, metadata={"slug": slug})
        assert said(post(event(reference))) == {"outcome": "delivered"}


def test_a_copy_of_production_gives_nothing_for_productions_pages(
    sandbox: Sandbox, configure: Any
) -> None:
    """The rows are the same, `SITE_URL` is not; no sync has run on the copy."""
    remote = sandbox.add_page(
        slug="tea-box", amount=10000, redirect_url="https://testserver/payments/callback/1/"
    )
    page = mirror_page(remote)
    PaymentPage.objects.update(redirect_url=remote["redirect_url"])
    first, second = (sandbox.pay("tea-box", metadata={"slug": "tea-box"}) for _time in range(2))
    assert said(post(event(first))) == {"outcome": "delivered"}
    configure(SITE_URL="https://staging.example")
    assert said(post(event(second))) == {"outcome": "held"}
    assert Fulfilment.objects.get(transaction__reference=second).reason == Reason.OTHER_SITE
    sweep_due()
    sync_pages()
    assert Good.objects.count() == 1
    # What staff of production said counts there alone.
    configure(SITE_URL="https://testserver")
    sell_here(page)
    configure(SITE_URL="https://staging.example")
    sweep_due()
    assert Good.objects.count() == 1


def test_after_a_move_nothing_is_given_for_old_addresses_until_staff_say_so(
    sandbox: Sandbox, configure: Any
) -> None:
    sandbox.add_page(slug="tea-box", amount=10000, redirect_url="https://testserver/thanks")
    sync_pages()
    configure(SITE_URL="https://new.example")
    reference = sandbox.pay("tea-box", metadata={"slug": "tea-box"})
    assert said(post(event(reference))) == {"outcome": "held"}
    sell_here(PaymentPage.objects.get())
    sweep_due()
    assert held() == (FulfilmentState.DELIVERED, "")


def test_staff_say_that_it_is_sold_here_and_the_next_sweep_delivers_what_was_held(
    sandbox: Sandbox, course_b: PaymentPage
) -> None:
    reference = sandbox.pay("course-b", metadata={"slug": "course-b"})
    post(event(reference))
    let_time_pass(3600)
    sell_here(course_b)
    calls = sandbox.verify_calls(reference)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert sandbox.verify_calls(reference) == calls + 1, "the old answer is not believed"
    assert held() == (FulfilmentState.DELIVERED, "")
    assert Good.objects.count() == 1
    forget_seller(course_b)
    post(event(sandbox.pay("course-b", metadata={"slug": "course-b"})))
    assert Good.objects.count() == 1


def test_what_was_refunded_meanwhile_is_not_delivered_by_that_word(
    sandbox: Sandbox, course_b: PaymentPage
) -> None:
    reference = sandbox.pay("course-b", metadata={"slug": "course-b"})
    post(event(reference))
    sandbox.set_transaction(reference, status="reversed")
    let_time_pass(3600)
    sell_here(course_b)
    sweep_due()
    assert held() == (FulfilmentState.HELD, Reason.NOT_SUCCESS)
    assert not Good.objects.exists()


def test_a_payers_next_look_lifts_it_too(
    sandbox: Sandbox, course_b: PaymentPage, come_back: Any
) -> None:
    reference = sandbox.pay("course-b")
    come_back(reference, course_b)
    assert held() == (FulfilmentState.HELD, Reason.OTHER_SITE)
    sell_here(course_b)
    come_back(reference, course_b)
    assert held() == (FulfilmentState.DELIVERED, "")


def test_staff_say_that_another_site_sells_a_page_without_an_address(
    tea_box: PaymentPage, sandbox: Sandbox, come_back: Any
) -> None:
    sell_elsewhere(tea_box)
    come_back(sandbox.pay("tea-box"), tea_box)
    assert held() == (FulfilmentState.HELD, Reason.OTHER_SITE)


def test_what_the_merchants_own_code_expected_is_given_whoever_sells_the_page(
    sandbox: Sandbox, course_b: PaymentPage, client: Client
) -> None:
    expected = ExpectedPayment.objects.expect(amount=10000, currency="ILS", page=course_b)
    sandbox.add_transaction(expected.reference)
    found = confirm_payment(expected.reference, door=Door.CONFIRM, vouched=True)
    assert found.outcome is Outcome.DELIVERED


def test_by_its_price_alone_a_payment_is_not_taken_from_another_site(
    sandbox: Sandbox, course_b: PaymentPage, configure: Any
) -> None:
    configure(ATTRIBUTION=("expected", "metadata", "callback", "amount"))
    assert said(post(event(sandbox.pay("course-b")))) == {"outcome": "held"}
    assert held() == (FulfilmentState.HELD, Reason.OTHER_SITE)
    for model in (Fulfilment, Transaction):
        model._base_manager.all()._raw_delete(connection.alias)
    sandbox.add_page(slug="ours", amount=10000)
    sync_pages()
    assert said(post(event(sandbox.pay("ours")))) == {"outcome": "held"}
    assert held() == (FulfilmentState.HELD, Reason.UNATTRIBUTED)
