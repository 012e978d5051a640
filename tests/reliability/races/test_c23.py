"""C23: at REPEATABLE READ the duplicate is there, and cannot be seen."""

import threading
import time
from typing import Any

import pytest
from django.db import connection, connections
from django.db import transaction as db_transaction
from django.db.utils import OperationalError
from django.test import Client
from django.urls import reverse

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, confirm_payment_on_commit, inbox, sweep_due
from payments_pages.db import transient
from payments_pages.models import ExpectedPayment, Fulfilment, PaymentPage, Verification
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment, in_thread, meanwhile
from tests.reliability.races.merchant_urls import MEANWHILE
from tests.reliability.races.snapshots import snapshot, snapshots
from tests.support.goods.models import Good
from tests.support.webhook_signing import HEADER, SECRET, event, post

pytestmark = pytest.mark.django_db(transaction=True)

on_a_server = pytest.mark.skipif(
    "connection.vendor == 'sqlite'",
    reason="one writer at a time: T2 cannot commit while T1's transaction is open",
)
INSERT = "INSERT INTO payments_pages_verification"
DEADLOCK = 1213


@pytest.fixture(autouse=True)
def open_webhook(sandbox: Sandbox, configure: Any) -> None:
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=(SECRET,))


@pytest.fixture
def order(tea_box: PaymentPage, sandbox: Sandbox) -> str:
    """A payment that somebody expects, so that a door needs no page's claim."""
    expect_payment("PPG-1024")
    return sandbox.pay("tea-box", reference="PPG-1024")


def seen(reference: str) -> bool:
    return Verification.objects.filter(reference=reference).exists()


def given(reference: str) -> bool:
    return Good.objects.filter(reference=reference).count() == Fulfilment.objects.count() == 1


def rival(reference: str) -> Outcome:
    return confirm_payment(reference, door=Door.WEBHOOK).outcome


@on_a_server
def test_c23_a_row_that_our_snapshot_hides_is_no_error(order: str, tea_box: PaymentPage) -> None:
    """T1 reads, T2 inserts and commits, T1 inserts."""
    with snapshot():
        assert not seen(order)
        theirs = in_thread(lambda: rival(order)).result()
        assert not seen(order), "this database does not hide it: the case is not the case's"
        confirm_payment_on_commit(order)
    assert theirs is Outcome.DELIVERED
    mine = confirm_payment(order, door=Door.CALLBACK, page_token=tea_box.token)
    assert mine.outcome is Outcome.ALREADY_DELIVERED
    assert given(order)


@on_a_server
@pytest.mark.parametrize("rolled_back", [False, True])
def test_c23_an_order_whose_snapshot_hides_others_is_expected_and_paid_once(
    order: str, tea_box: PaymentPage, sandbox: Sandbox, rolled_back: bool
) -> None:
    """Call `expect()`, and store the rival's reference again, in a snapshot that hides its row."""
    with snapshot():
        assert not seen(order)
        in_thread(lambda: rival(order)).result()
        assert not seen(order)
        mine = ExpectedPayment.objects.expect(amount=10000, currency="ILS", page=tea_box)
        confirm_payment_on_commit(order)
        db_transaction.set_rollback(rolled_back)
    assert given(order)
    sandbox.pay("tea-box", reference=mine.reference)
    let_time_pass(150)
    assert sweep_due().outcomes == ({} if rolled_back else {Outcome.DELIVERED: 1})
    assert Good.objects.count() == (1 if rolled_back else 2)


@on_a_server
@pytest.mark.urls("tests.reliability.races.merchant_urls")
def test_c23_a_merchants_view_in_one_transaction_answers_200(
    order: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ATOMIC_REQUESTS on, and the view's own reading made the snapshot."""
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    told: list[Outcome] = []
    MEANWHILE.append(lambda: told.append(in_thread(lambda: rival(order)).result()))
    with snapshots():
        response = client.get(f"/order/{order}/")
        assert (response.status_code, response.content) == (200, b"hidden")
    assert told == [Outcome.DELIVERED]
    assert given(order)


@pytest.mark.parametrize("door", ["webhook", "callback"])
def test_c23_our_doors_answer_as_ever_where_each_request_is_a_transaction(
    order: str,
    tea_box: PaymentPage,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    door: str,
) -> None:
    """The rival's row comes between the look and the insert of a request."""
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    with snapshots(), meanwhile(INSERT, lambda: rival(order)) as theirs:
        if door == "webhook":
            response: Any = post(event(order), client=client)
            assert (response.status_code, response.json()) == (
                200,
                {"outcome": "already_delivered"},
            )
        else:
            address = reverse("payments_pages:page-callback", args=[tea_box.token])
            response = client.get(address, {"reference": order})
            assert response.status_code == 303
            assert "/result/" in response.headers["Location"]
    assert theirs == [Outcome.DELIVERED]
    assert given(order)


def test_c23_two_inserts_that_collide_are_never_an_error(
    order: str,
    tea_box: PaymentPage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both wait for a third that rolls back: InnoDB gives both a lock on it, and undoes one (1213)."""
    undone: list[object] = []
    is_brief = transient._is_brief

    def see(error: BaseException) -> bool:
        undone.extend(error.args[:1])
        return is_brief(error)

    monkeypatch.setattr(transient, "_is_brief", see)
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    address = reverse("payments_pages:page-callback", args=[tea_box.token])

    def by_webhook() -> int:
        with snapshots():
            return post(event(order)).status_code

    def by_callback() -> int:
        with snapshots():
            return Client().get(address, {"reference": order}).status_code

    with db_transaction.atomic():
        inbox.remember(order, reference_key(order), door=Door.CONFIRM)
        rivals = [in_thread(by) for by in (by_webhook, by_callback, by_webhook)]
        time.sleep(1)  # by then all wait for this row; a slower one collides with less
        db_transaction.set_rollback(True)
    webhook, callback, again = (one.result(timeout=60) for one in rivals)
    assert {webhook, again} <= {200, 503}
    # 200 is the page that says "we cannot confirm right now": the sweep finishes it.
    assert callback in {303, 200}
    if connection.vendor == "mysql":
        assert DEADLOCK in undone, "nothing collided"
    let_time_pass(60)
    sweep_due()
    assert given(order)


@on_a_server
def test_c23_two_orders_that_note_each_others_references_lose_one_order_and_no_payment(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    """A deadlock of the merchant's own transactions is the merchant's; both payments are delivered."""
    references = ["PPG-23-1", "PPG-23-2"]
    for reference in references:
        expect_payment(reference)
        sandbox.pay("tea-box", reference=reference)
    line = threading.Barrier(2)

    def cross(first: str, second: str) -> bool:
        try:
            with snapshot():
                confirm_payment_on_commit(first)
                line.wait(timeout=20)
                confirm_payment_on_commit(second)
        except OperationalError:
            return False
        return True

    orders = [
        in_thread(lambda: cross(*references)),
        in_thread(lambda: cross(*reversed(references))),
    ]
    assert sorted(one.result(timeout=60) for one in orders) == [False, True]
    assert sorted(Good.objects.values_list("reference", flat=True)) == references
