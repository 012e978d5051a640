"""Nobody waits for a row that another transaction has locked, on any database."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db import transaction as db_transaction

from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment, rivals
from payments_pages.confirmation.rivals import wait_while
from payments_pages.db import change_unless_held
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread

pytestmark = pytest.mark.django_db(transaction=True)

on_servers = pytest.mark.skipif(
    "sqlite" in connection.settings_dict["ENGINE"], reason="one writer has the whole database"
)
QUICK = 1.0


@pytest.fixture
def held(tea_box: PaymentPage) -> Iterator[PaymentPage]:
    """Lock a row: another connection changes it, in a transaction that stays open."""
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with db_transaction.atomic():
            PaymentPage.objects.filter(pk=tea_box.pk).update(name="held")
            begun.set()
            end.wait(30)

    holding = in_thread(hold)
    assert begun.wait(10)
    yield tea_box
    end.set()
    holding.result(timeout=10)


def rename(page: PaymentPage, name: str = "ours", *, seen: str = "Tea box") -> int | None:
    return change_unless_held(PaymentPage.objects.filter(name=seen), page.pk, name=name)


def test_a_row_that_nobody_holds_is_changed_if_it_is_as_it_was_seen(tea_box: PaymentPage) -> None:
    assert rename(tea_box, seen="another") == 0
    assert rename(tea_box) == 1
    assert PaymentPage.objects.get().name == "ours"


@on_servers
@pytest.mark.parametrize("skips", [True, False])
def test_a_row_that_somebody_holds_is_left_alone_at_once(
    held: PaymentPage, monkeypatch: pytest.MonkeyPatch, skips: bool
) -> None:
    """Also if the database has NOWAIT but not SKIP LOCKED, as MariaDB before 10.6."""
    if not skips:
        monkeypatch.setattr(connection.features, "has_select_for_update_skip_locked", False)
    began = time.monotonic()
    assert rename(held) is None
    assert rename(held, seen="another") is None
    assert time.monotonic() - began < QUICK


@on_servers
def test_in_a_callers_transaction_the_rest_of_it_goes_on(
    held: PaymentPage, django_user_model: Any
) -> None:
    with db_transaction.atomic():
        assert rename(held) is None
        django_user_model.objects.create(username="staff")
    assert django_user_model.objects.count() == 1


@on_servers
def test_where_a_lock_is_an_error_a_callers_transaction_fails_as_a_whole(
    held: PaymentPage, monkeypatch: pytest.MonkeyPatch, django_user_model: Any
) -> None:
    monkeypatch.setattr(connection.features, "has_select_for_update_skip_locked", False)

    @db_transaction.atomic
    def work() -> None:
        django_user_model.objects.create(username="staff")
        rename(held)

    with pytest.raises(OperationalError):
        work()
    assert not django_user_model.objects.exists()


@on_servers
def test_who_only_looks_for_a_moment_is_waited_for(tea_box: PaymentPage) -> None:
    begun = threading.Event()

    def look() -> None:
        with db_transaction.atomic():
            list(PaymentPage.objects.select_for_update().filter(pk=tea_box.pk))
            begun.set()
            time.sleep(0.02)

    looking = in_thread(look)
    assert begun.wait(10)
    assert rename(tea_box) == 1
    looking.result(timeout=10)


def test_no_more_threads_wait_for_rivals_than_may_wait_on_the_service(
    configure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 1.5)
    configure(MAX_CALLS=2)
    first = [in_thread(lambda: wait_while(lambda: True, bool)) for _number in range(2)]
    time.sleep(0.4)
    with ThreadPoolExecutor(20) as others:
        began = time.monotonic()
        list(others.map(lambda _n: wait_while(lambda: True, bool), range(20)))
        assert time.monotonic() - began < 0.9
    assert [one.result(timeout=5) for one in first] == [True, True]


def test_who_waits_goes_on_as_soon_as_the_rival_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 30.0)
    busy = iter([True, True, False])
    began = time.monotonic()
    wait_while(lambda: next(busy), bool)
    assert time.monotonic() - began < QUICK


_looks: list[Future[None]] = []


def fail_while_a_rival_looks(fulfilment: Fulfilment) -> None:
    """Raise an error; a rival has waited for the row, and locks it when this is rolled back."""

    def look() -> None:
        with db_transaction.atomic():
            list(Fulfilment.objects.select_for_update().filter(pk=fulfilment.pk))
            time.sleep(0.25)

    _looks.append(in_thread(look))
    time.sleep(0.2)
    raise RuntimeError("no luck")


@on_servers
def test_a_failure_is_recorded_although_a_rival_looks_at_the_row_just_then(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_always")
    reference = sandbox.pay("tea-box")
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    configure(HANDLER=f"{__name__}.fail_while_a_rival_looks")
    let_time_pass(60)
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    _looks.pop().result(timeout=10)
    row = Fulfilment.objects.get()
    assert (found.outcome, row.state) == (Outcome.DELIVERY_FAILED, FulfilmentState.FAILED)
    assert (row.attempts, "no luck" in row.last_error) == (2, True)
