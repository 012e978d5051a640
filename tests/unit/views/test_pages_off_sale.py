"""Money for a page that nobody could pay on buys nothing; what was paid before that does (S4)."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from payments_pages.choices import Door, FulfilmentState, Outcome, Reason
from payments_pages.confirmation import confirm_payment, sweep_due
from payments_pages.models import ExpectedPayment, Fulfilment, PaymentPage
from payments_pages.pages import set_active, sync_pages
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import mirror_another
from tests.support.goods.models import Good
from tests.support.webhook_signing import event, post, said

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_webhook")]

OFF = (FulfilmentState.HELD, Reason.PAGE_NOT_ON_SALE)
GIVEN = (FulfilmentState.DELIVERED, "")


def iso(minutes: int) -> str:
    return (timezone.now() + dt.timedelta(minutes=minutes)).isoformat()


def state() -> tuple[str, str]:
    row = Fulfilment.objects.get()
    return row.state, row.reason


@pytest.fixture
def synced(sandbox: Sandbox) -> PaymentPage:
    """A page on sale, as a sync has mirrored it an hour ago."""
    sandbox.add_page(slug="tea-box", amount=10000, updatedAt=iso(-600))
    sync_pages()
    let_time_pass(3600)
    return PaymentPage.objects.get()


def pay(sandbox: Sandbox, **fields: Any) -> str:
    return sandbox.pay("tea-box", metadata={"slug": "tea-box"}, **fields)


def test_a_page_of_the_other_mode_sells_nothing_here(
    sandbox: Sandbox, synced: PaymentPage, come_back: Any
) -> None:
    """A twin for tests costs next to nothing, and its token is no secret."""
    twin = mirror_another(sandbox, slug="twin", amount=100)
    PaymentPage.objects.filter(pk=twin.pk).update(domain="live")
    come_back(sandbox.pay("twin"), twin)
    assert state() == OFF
    assert not Good.objects.exists()


def test_a_page_that_the_service_never_confirmed_sells_nothing(
    sandbox: Sandbox, synced: PaymentPage, come_back: Any
) -> None:
    PaymentPage.objects.update(remote_id=None)
    come_back(sandbox.pay("tea-box"), synced)
    assert state() == OFF
    sync_pages()
    sweep_due()
    assert state() == GIVEN


@pytest.mark.parametrize(
    ("paid_at", "expected"),
    [(-31, GIVEN), (-29, OFF), (None, OFF)],
)
def test_a_page_switched_off_at_the_service_sells_what_was_paid_before(
    sandbox: Sandbox, synced: PaymentPage, paid_at: int | None, expected: tuple[str, str]
) -> None:
    sandbox.set_page("tea-box", active=False, updatedAt=iso(-30))
    sync_pages()
    synced.refresh_from_db()
    assert synced.inactive_since == synced.updated_at
    reference = pay(sandbox, paid_at=None if paid_at is None else iso(paid_at))
    post(event(reference))
    assert state() == expected


@pytest.mark.parametrize("paid_at", ["soon", "", 17, {}])
def test_a_time_that_cannot_be_read_is_no_proof_of_an_early_payment(
    sandbox: Sandbox, synced: PaymentPage, paid_at: Any
) -> None:
    sandbox.set_page("tea-box", active=False)
    sync_pages()
    post(event(pay(sandbox, paid_at=paid_at)))
    assert state() == OFF


def test_of_a_page_first_seen_switched_off_nobody_knows_since_when(sandbox: Sandbox) -> None:
    sandbox.add_page(slug="tea-box", amount=10000, active=False)
    sync_pages()
    assert PaymentPage.objects.get().inactive_since is None
    post(event(pay(sandbox, paid_at=iso(-600))))
    assert state() == OFF


@pytest.mark.parametrize("updated", [{"updatedAt": iso(-600)}, {"updatedAt": "soon"}])
def test_a_service_that_does_not_say_when_it_was_switched_off_is_believed_from_now_on(
    sandbox: Sandbox, updated: dict[str, Any]
) -> None:
    sandbox.add_page(slug="tea-box", amount=10000, updatedAt=iso(-600))
    sync_pages()
    let_time_pass(3600)
    was = PaymentPage.objects.get().updated_at
    stamp = updated["updatedAt"] if updated["updatedAt"] == "soon" else was and was.isoformat()
    sandbox.set_page("tea-box", active=False, updatedAt=stamp)
    before = timezone.now()
    sync_pages()
    since = PaymentPage.objects.get().inactive_since
    assert since is not None
    assert since >= before
    post(event(pay(sandbox, paid_at=iso(-1))))
    assert state() == GIVEN


def test_a_page_switched_off_here_and_on_again(sandbox: Sandbox, synced: PaymentPage) -> None:
    early = pay(sandbox, paid_at=iso(-1))
    set_active(synced, active=False)
    assert said(post(event(early))) == {"outcome": "delivered"}
    late = pay(sandbox, paid_at=iso(1))
    assert said(post(event(late))) == {"outcome": "held"}
    late_row = Fulfilment.objects.get(transaction__reference=late)
    assert (late_row.state, late_row.reason) == OFF
    sweep_due()
    assert Good.objects.count() == 1
    let_time_pass(60)
    set_active(PaymentPage.objects.get(), active=True)
    assert PaymentPage.objects.get().inactive_since is None
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert Good.objects.count() == 2


def test_switching_it_on_again_does_not_make_the_amount_enough(
    sandbox: Sandbox, synced: PaymentPage
) -> None:
    set_active(synced, active=False)
    post(event(pay(sandbox, amount=9999, paid_at=iso(1))))
    assert state() == OFF
    let_time_pass(60)
    set_active(PaymentPage.objects.get(), active=True)
    sweep_due()
    assert state() == (FulfilmentState.HELD, Reason.AMOUNT_MISMATCH)


def test_a_page_that_went_missing_sells_what_was_paid_before(
    sandbox: Sandbox, synced: PaymentPage
) -> None:
    early, late = pay(sandbox, paid_at=iso(-1)), pay(sandbox, paid_at=iso(1))
    assert synced.remote_id is not None
    sandbox.state.forget_page(synced.remote_id)
    sync_pages()
    assert PaymentPage.objects.get().missing_since is not None
    assert said(post(event(early))) == {"outcome": "delivered"}
    assert said(post(event(late))) == {"outcome": "held"}
    assert Fulfilment.objects.get(transaction__reference=late).reason == Reason.PAGE_NOT_ON_SALE
    assert Good.objects.count() == 1


def test_what_the_merchants_own_code_expected_needs_no_page_on_sale_but_one_of_our_mode(
    sandbox: Sandbox, synced: PaymentPage
) -> None:
    PaymentPage.objects.update(active=False)
    for domain, outcome in (("test", Outcome.DELIVERED), ("live", Outcome.HELD)):
        PaymentPage.objects.update(domain=domain)
        expected = ExpectedPayment.objects.expect(amount=10000, currency="ILS", page=synced)
        sandbox.add_transaction(expected.reference)
        found = confirm_payment(expected.reference, door=Door.CONFIRM, vouched=True)
        assert found.outcome is outcome
    held = Fulfilment.objects.exclude(reason="").get()
    assert held.reason == Reason.PAGE_NOT_ON_SALE
