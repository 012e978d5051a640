"""The sweep's lateness, and what the last payments were attributed by."""

from typing import Any

import pytest

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment, forget_binding, sweep_due
from payments_pages.doctor import Health
from payments_pages.doctor.payments import attribution, sweep
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import mirror_another
from tests.support.door_behaviour import pay

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("tea_box")]


def test_no_sweep_has_ever_run() -> None:
    found = sweep()
    assert (found.health, found.seen) == (Health.WRONG, "No sweep has run here yet.")
    sweep_due()
    assert sweep().seen == "Nothing is due, and a sweep has run here."


def test_without_an_address_a_first_sweep_leaves_no_trace(configure: Any) -> None:
    configure(SITE_URL=None)
    assert sweep().health is Health.RIGHT


def test_a_sweep_that_has_stopped_is_told_by_what_is_due(sandbox: Sandbox, configure: Any) -> None:
    sweep_due()
    confirm_payment(pay(sandbox, status="pending"), door=Door.CALLBACK)
    let_time_pass(120)
    assert sweep().health is Health.RIGHT
    let_time_pass(600)
    found = sweep()
    assert found.health is Health.WRONG
    assert "300 s are allowed" in found.seen
    assert "payments_pages_sweep" in found.advice


def test_tables_of_another_site_are_told(configure: Any) -> None:
    sweep_due()
    configure(SITE_URL="https://copy.example.com")
    forget_binding()
    found = sweep()
    assert (found.health, "belong to" in found.seen) == (Health.WRONG, True)


def test_there_is_no_payment_yet() -> None:
    assert attribution().seen == "There is no payment yet."


def test_payments_are_counted_by_what_told_their_page(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    for _number in range(2):
        confirm_payment(pay(sandbox), door=Door.WEBHOOK)
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    found = attribution()
    assert found.health is Health.RIGHT
    assert found.seen.endswith("metadata 2, callback 1.")


def test_a_payment_that_nothing_says_the_page_of_is_told(sandbox: Sandbox) -> None:
    assert confirm_payment(sandbox.pay("tea-box"), door=Door.WEBHOOK).outcome is Outcome.HELD
    found = attribution()
    assert found.health is Health.WARNING
    assert found.seen.endswith("nothing 1. 1 of them is held.")


def test_amounts_count_as_a_guess_once_two_pages_cost_the_same(
    sandbox: Sandbox, configure: Any
) -> None:
    configure(ATTRIBUTION=("amount",))
    confirm_payment(sandbox.pay("tea-box"), door=Door.WEBHOOK)
    assert attribution().health is Health.RIGHT
    mirror_another(sandbox, amount=10000)
    found = attribution()
    assert (found.health, "amount 1" in found.seen) == (Health.WARNING, True)
