"""Anonymous callers cannot overload the service, fill our tables, or keep payers out."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.core.management import call_command
from django.test import Client

from payments_pages.choices import Door, Outcome, VerificationState
from payments_pages.client import GATES
from payments_pages.confirmation import Confirmation, admission, confirm_payment, sweep_due
from payments_pages.exceptions import NotAsked
from payments_pages.models import Fulfilment, PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.conftest import expect_payment
from tests.support.goods.models import Good
from tests.support.scale import count
from tests.support.webhook_signing import HEADER, SECRET, event, post

pytestmark = pytest.mark.django_db

on_commit = pytest.mark.django_db(transaction=True)
"""For tests that sweep: the sweep closes old connections."""

HERE, THERE = "203.0.113.7", "198.51.100.9"


@pytest.fixture(autouse=True)
def small(configure: Any) -> None:
    """Small budgets, in a window that does not end during the test."""
    configure(UNKNOWN_PER_ADDRESS=5, UNKNOWN_IN_ALL=8)


@pytest.fixture(autouse=True)
def one_window(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000_000.0]
    monkeypatch.setattr(admission, "time", lambda: now[0])
    return now


def come(reference: str, address: str = HERE, **more: Any) -> Confirmation:
    return confirm_payment(reference, door=Door.CALLBACK, client_ip=address, **more)


def guess(count: int, address: str = HERE, start: int = 0) -> list[Outcome]:
    numbers = range(start, start + count)
    return [come(f"GUESS-{address}-{number}", address).outcome for number in numbers]


@pytest.mark.slow
@on_commit
def test_random_references_cost_the_service_the_budget_and_us_bounded_rows(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MAX_WAITING", 50)
    guesses = count(1_000, 10_000)
    outcomes = guess(guesses)
    assert sandbox.verify_calls() == 5
    assert outcomes.count(Outcome.UNKNOWN) == 5
    assert outcomes.count(Outcome.UNAVAILABLE) == guesses - 5
    assert Verification.objects.count() == 5 + 25, "those of an address are bounded by themselves"
    for number in range(20):
        guess(10, f"192.0.2.{number}")
    assert sandbox.verify_calls() == 8
    assert Verification.objects.count() == 8 + 50
    assert not Fulfilment.objects.exists()
    let_time_pass(3600)
    report = sweep_due()
    assert sandbox.verify_calls() == 8 + 8, "the sweep has a budget of its own"
    assert report.outcomes == {Outcome.UNKNOWN: 8}


@on_commit
def test_what_waits_is_known_as_unknown_and_forgotten_after_a_day(
    sandbox: Sandbox, one_window: list[float]
) -> None:
    guess(20)
    let_time_pass(25 * 3600)
    for _minute in range(3):
        sweep_due()
        one_window[0] += 60
    assert not Verification.objects.exists()


def test_all_addresses_together_have_a_budget(sandbox: Sandbox) -> None:
    for number in range(10):
        guess(3, f"203.0.113.{number}")
    assert sandbox.verify_calls() == 8


def test_one_address_does_not_use_up_the_budget_of_all(sandbox: Sandbox) -> None:
    guess(100)
    assert guess(3, THERE) == [Outcome.UNKNOWN] * 3


def test_a_new_minute_is_a_new_budget(sandbox: Sandbox, one_window: list[float]) -> None:
    guess(6)
    one_window[0] += 60
    guess(6, start=100)
    assert sandbox.verify_calls() == 10


def test_payers_are_not_counted_however_many_share_an_address(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    for _payer in range(20):
        found = come(sandbox.pay("tea-box"), page_token=tea_box.token)
        assert found.outcome is Outcome.DELIVERED
    assert guess(1) == [Outcome.UNKNOWN]


@on_commit
def test_one_who_is_put_off_is_finished_by_the_sweep_with_the_page_they_claimed(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    guess(5)
    reference = sandbox.pay("tea-box")
    found = come(reference, page_token=tea_box.token)
    assert (found.outcome, found.retry_after) == (Outcome.UNAVAILABLE, 60)
    assert sandbox.verify_calls(reference) == 0
    row = Verification.objects.get(reference=reference)
    assert (row.state, row.vouched, row.asked_at) == (VerificationState.DUE, False, None)
    let_time_pass(10)
    assert sweep_due().outcomes[Outcome.DELIVERED] == 1
    assert Good.objects.get().reference == reference


def test_a_signed_webhook_lets_a_payer_in_behind_a_guessers_address(
    tea_box: PaymentPage, sandbox: Sandbox, client: Client, configure: Any
) -> None:
    configure(WEBHOOK_HEADER=HEADER, WEBHOOK_ALGORITHM="sha256", WEBHOOK_SECRETS=SECRET)
    guess(50, "127.0.0.1")
    reference = sandbox.pay("tea-box", status="pending")
    response = post(event(reference))
    assert response.json() == {"outcome": "pending"}
    sandbox.set_transaction(reference, status="success")
    let_time_pass(3)
    response = client.get(f"/payments/callback/{tea_box.token}/", {"reference": reference})
    assert response.status_code == 303
    assert Good.objects.count() == 1


@pytest.mark.parametrize("door", [Door.ADMIN, Door.COMMAND, Door.WEBHOOK])
def test_who_vouches_is_not_budgeted(sandbox: Sandbox, door: Door) -> None:
    guess(20)
    before = sandbox.verify_calls()
    for number in range(20):
        confirm_payment(f"V-{number}", door=door, vouched=True)
    assert sandbox.verify_calls() == before + 20


def test_an_expected_payment_is_not_budgeted(sandbox: Sandbox) -> None:
    guess(20)
    sandbox.add_transaction("ORDER-1", amount=10000)
    expect_payment("ORDER-1")
    assert come("ORDER-1").outcome is Outcome.DELIVERED


def test_what_the_service_has_known_is_not_budgeted(tea_box: PaymentPage, sandbox: Sandbox) -> None:
    reference = sandbox.pay("tea-box", status="pending")
    assert come(reference, page_token=tea_box.token).outcome is Outcome.PENDING
    guess(20)
    sandbox.set_transaction(reference, status="success")
    let_time_pass(10)
    assert come(reference).outcome is Outcome.DELIVERED


def test_asking_again_about_one_unknown_reference_is_budgeted_too(sandbox: Sandbox) -> None:
    for _visit in range(20):
        come("GUESS")
        let_time_pass(3)
    assert sandbox.verify_calls() == 5


def test_a_call_that_was_not_made_is_not_counted(sandbox: Sandbox) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GATES, "opened", _nobody)
        for number in range(20):
            assert come(f"GUESS-{number}").outcome is Outcome.UNAVAILABLE
    assert guess(6) == [Outcome.UNKNOWN] * 5 + [Outcome.UNAVAILABLE]
    row = Verification.objects.get(reference="GUESS-1")
    assert (row.last_error, row.state) == ("not asked: closed", VerificationState.DUE)


def _nobody(*_arguments: Any, **_named: Any) -> Any:
    raise NotAsked("not asked: closed")


def test_the_merchants_own_code_has_no_budget(sandbox: Sandbox) -> None:
    for number in range(20):
        come(f"GUESS-{number}", address="")
    assert sandbox.verify_calls() == 20


@on_commit
def test_vouched_references_are_swept_before_unvouched_ones(sandbox: Sandbox) -> None:
    guess(30)
    confirm_payment("VOUCHED", door=Door.WEBHOOK, vouched=True)
    let_time_pass(3600)
    before = len(sandbox.requests)
    sweep_due()
    asked = [request.path.rpartition("/")[2] for request in sandbox.requests[before:]]
    assert asked[0] == "VOUCHED"
    assert len(asked) == 1 + 8


def test_the_counters_hold_no_address(sandbox: Sandbox) -> None:
    guess(2)
    keys = list(caches["default"]._cache)
    assert len(keys) == 2
    assert not any(HERE in key for key in keys)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:203.0.113.7", "203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("unknown", "unknown", True),
    ],
)
def test_of_an_ipv6_address_the_subscribers_part_counts(one: str, other: str, same: bool) -> None:
    for _number in range(5):
        room = admission.room_for(one)
        assert room is not None
        admission.charge(room)
    assert (admission.room_for(other) is None) is same


class BrokenCache(LocMemCache):
    def add(self, *_arguments: Any, **_named: Any) -> bool:
        raise OSError("redis://:secret@cache is down")

    incr = decr = add  # type: ignore[assignment]


@pytest.mark.parametrize(
    "backend",
    [
        "tests.unit.confirmation.test_admission.BrokenCache",
        "django.core.cache.backends.dummy.DummyCache",
    ],
)
def test_a_cache_that_is_down_stops_no_payer_and_is_told(
    sandbox: Sandbox,
    settings: Any,
    configure: Any,
    caplog: pytest.LogCaptureFixture,
    backend: str,
) -> None:
    caplog.set_level(logging.WARNING, "payments_pages.budgets")
    settings.CACHES = {**settings.CACHES, "counters": {"BACKEND": backend}}
    configure(CACHE="counters", UNKNOWN_PER_ADDRESS=1, UNKNOWN_IN_ALL=1)
    assert guess(5) == [Outcome.UNKNOWN] * 5
    assert "budgets.cache_failed" in caplog.text
    assert "secret" not in caplog.text


WORKER = """
import json, sys, django
django.setup()
from django.conf import settings
settings.CACHES = json.loads(sys.argv[1])
from payments_pages.confirmation import admission
admission.time = lambda: 1_000_000.0
taken = 0
while taken < int(sys.argv[2]) and (room := admission.room_for("203.0.113.7")) is not None:
    admission.charge(room)
    taken += 1
print(taken)
"""


@pytest.mark.slow
@on_commit
@pytest.mark.parametrize("kind", ["filebased.FileBasedCache", "db.DatabaseCache"])
def test_processes_share_a_budget_in_a_shared_cache(
    kind: str,
    sandbox: Sandbox,
    settings: Any,
    tmp_path: Path,
    child_environment: Callable[[], dict[str, str]],
) -> None:
    location = "budget_counters" if kind.startswith("db") else str(tmp_path)
    settings.CACHES = {
        "default": {"BACKEND": f"django.core.cache.backends.{kind}", "LOCATION": location}
    }
    call_command("createcachetable")
    taken = [
        int(
            subprocess.run(
                [sys.executable, "-c", WORKER, json.dumps(settings.CACHES), "4"],
                env=child_environment(),
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for _process in range(3)
    ]
    assert taken == [4, 1, 0]


def test_the_doors_say_where_an_ask_comes_from(sandbox: Sandbox, client: Client) -> None:
    forged = {"headers": {"x-forwarded-for": "192.0.2.1"}}
    for number in range(10):
        client.get("/payments/callback/", {"reference": f"G-{number}"}, **forged)
        client.post(
            "/payments/confirm/",
            json.dumps({"reference": f"H-{number}"}),
            content_type="application/json",
            **forged,
        )
    assert sandbox.verify_calls() == 5


def test_a_request_without_an_address_is_budgeted(sandbox: Sandbox, client: Client) -> None:
    for number in range(10):
        client.get("/payments/callback/", {"reference": f"G-{number}"}, REMOTE_ADDR="")
    assert sandbox.verify_calls() == 5


# --- Payments that are known and not paid (S07) ----------------------------------------------


@pytest.mark.parametrize(
    ("status", "payments"),
    [
        pytest.param("abandoned", 60, marks=pytest.mark.slow),
        ("abandoned", 12),
        ("failed", 12),
        ("pending", 12),
        ("processing", 12),
        ("a status nobody knows", 12),
    ],
)
def test_s07_who_reloads_unpaid_payments_costs_few_calls_and_keeps_no_payer_out(
    tea_box: PaymentPage, sandbox: Sandbox, one_window: list[float], status: str, payments: int
) -> None:
    unpaid = [sandbox.pay("tea-box", status=status) for _number in range(payments)]
    for reference in unpaid:
        come(reference, page_token=tea_box.token)
    first = sandbox.verify_calls()
    for _time in range(4):
        let_time_pass(15)
        for reference in unpaid:
            assert come(reference).outcome in {Outcome.PENDING, Outcome.NOT_PAID}
    assert sandbox.verify_calls() == first, "the first looks have used up this minute's budget"
    for minute in (1, 2):
        one_window[0] += 60
        let_time_pass(60)
        for reference in unpaid:
            come(reference)
        assert sandbox.verify_calls() == first + 5 * minute
    for _payer in range(8):
        found = come(sandbox.pay("tea-box"), page_token=tea_box.token)
        assert found.outcome is Outcome.DELIVERED, "behind the same address"
    assert guess(1) == [Outcome.UNKNOWN]


def test_s07_expected_payments_that_are_not_paid_are_budgeted_too(
    db: None, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    """The shop's own code has vouched for the reference, not for whoever comes with it."""
    orders = [sandbox.pay("tea-box", status="abandoned") for _number in range(20)]
    for reference in orders:
        expect_payment(reference)
        confirm_payment(reference, door=Door.EXPECTED, vouched=True)
    let_time_pass(60)
    before = sandbox.verify_calls()
    for reference in orders:
        come(reference)
    assert sandbox.verify_calls() == before + 5
    for reference in orders:
        confirm_payment(reference, door=Door.WEBHOOK, vouched=True, client_ip=HERE)
    assert sandbox.verify_calls() == before + 25, "a signed message is never budgeted"


@on_commit
def test_s07_one_who_pays_after_the_budget_is_used_up_is_served_by_the_sweep(
    sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    unpaid = [sandbox.pay("tea-box", status="abandoned") for _number in range(9)]
    for reference in unpaid:
        come(reference, page_token=tea_box.token)
    sandbox.set_transaction(unpaid[0], status="success")
    let_time_pass(20)
    assert come(unpaid[0]).outcome is Outcome.NOT_PAID
    assert come(unpaid[0], THERE).outcome is Outcome.DELIVERED, "another address has its own"
    sandbox.set_transaction(unpaid[1], status="success")
    assert sweep_due().outcomes[Outcome.DELIVERED] == 1


def test_s07_a_service_that_gives_no_answer_is_charged_as_well(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    configure(UNKNOWN_PER_ADDRESS=30)
    references = [sandbox.pay("tea-box", status="pending") for _number in range(20)]
    for reference in references:
        come(reference)
    configure(UNKNOWN_PER_ADDRESS=22)
    let_time_pass(60)
    sandbox.faults.add(kind="status", operation="verify", status=400)
    before = sandbox.verify_calls()
    for reference in references:
        come(reference)
    assert sandbox.verify_calls() == before + 2


def test_s07_the_pause_of_a_reference_grows_for_who_is_not_vouched_for(
    sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    configure(UNKNOWN_PER_ADDRESS=1000)
    reference = sandbox.pay("tea-box", status="abandoned")
    asked_after: list[int] = []
    waited = 0
    come(reference)
    for _second in range(70):
        let_time_pass(2)
        waited += 2
        calls = sandbox.verify_calls()
        come(reference)
        if sandbox.verify_calls() > calls:
            asked_after.append(waited)
            waited = 0
    # Real time passes, too: a pause may seem a step shorter.
    pauses = list(zip(asked_after, [2, 2, 4, 8, 16, 32, 60], strict=False))
    assert all(right - 2 <= seen <= right for seen, right in pauses), asked_after
    assert len(pauses) == 7
    calls = sandbox.verify_calls()
    confirm_payment(reference, door=Door.CONFIRM)
    assert sandbox.verify_calls() == calls + (waited >= 2), "the merchant's own code"
    let_time_pass(2)
    confirm_payment(reference, door=Door.CONFIRM)
    assert sandbox.verify_calls() > calls
    confirm_payment(reference, door=Door.WEBHOOK, vouched=True, client_ip=HERE)
    calls = sandbox.verify_calls()
    let_time_pass(3)
    come(reference)
    assert sandbox.verify_calls() == calls + 1, "the schedule has started anew"
