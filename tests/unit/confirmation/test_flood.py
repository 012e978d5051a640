"""Thousands of invented references keep no payer's reference from being stored and asked about."""

import time
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments_pages.choices import Door, Outcome, VerificationState
from payments_pages.confirmation import admission, confirm_payment, sweep_due
from payments_pages.models import PaymentPage, Verification
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MANY = 10_000
PAYER, GUESSER = "203.0.113.7", "198.51.100.9"


@pytest.fixture(autouse=True)
def small(configure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(UNKNOWN_PER_ADDRESS=5, UNKNOWN_IN_ALL=20)
    monkeypatch.setattr(admission, "time", lambda: 1_000_000.0)


def made_up(count: int, *, denied: bool = False, page: PaymentPage | None = None) -> None:
    """Due references that were never asked about, or that the service does not know."""
    now = timezone.now()
    Verification.objects.bulk_create(
        [
            Verification(
                reference=f"MADE-UP-{number}",
                reference_key=reference_key(f"MADE-UP-{number}"),
                mode="test",
                state=VerificationState.UNKNOWN if denied else VerificationState.DUE,
                attempts=int(denied),
                next_at=now,
                asked_at=now if denied else None,
                first_door=Door.CALLBACK,
                page_claim=page.token if page else None,
            )
            for number in range(count)
        ],
        batch_size=500,
    )
    let_time_pass(10)


def spend(address: str, sandbox: Sandbox) -> None:
    """Use up an address's budget for a minute."""
    for number in range(5):
        confirm_payment(f"SPENT-{address}-{number}", door=Door.CALLBACK, client_ip=address)
    assert sandbox.verify_calls() >= 5


def come_back(reference: str, page: PaymentPage, address: str = PAYER) -> str:
    """Come back by the page's own callback; return the address of the redirect."""
    response = Client(REMOTE_ADDR=address).get(
        f"/payments/callback/{page.token}/", {"reference": reference}
    )
    return str(response.headers.get("Location", response.status_code))


@pytest.mark.parametrize("denied", [False, True])
def test_a_payer_with_a_budget_is_delivered_at_once(
    tea_box: PaymentPage, sandbox: Sandbox, denied: bool
) -> None:
    made_up(MANY, denied=denied)
    reference = sandbox.pay("tea-box")
    assert "/payments/result/" in come_back(reference, tea_box)
    assert Good.objects.get().reference == reference


@pytest.mark.parametrize("denied", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_one_whose_network_has_none_left_is_noted_and_delivered_before_the_made_up_ones(
    tea_box: PaymentPage, sandbox: Sandbox, denied: bool, named: bool
) -> None:
    """`named`: the invented references name the page, too; then the newest comes first."""
    made_up(MANY, denied=denied, page=tea_box if named else None)
    spend(PAYER, sandbox)
    reference = sandbox.pay("tea-box")
    assert come_back(reference, tea_box) == "200"
    assert Verification.objects.filter(reference=reference).exists()
    if not named:
        for number in range(4):
            confirm_payment(f"LATER-{number}", door=Door.CALLBACK, client_ip=PAYER)
    let_time_pass(10)
    before = len(sandbox.requests)
    report = sweep_due()
    assert report.outcomes[Outcome.DELIVERED] == 1
    assert sandbox.requests[before].path.endswith(f"/{reference}")
    assert Good.objects.get().reference == reference


@pytest.mark.parametrize("denied", [False, True])
def test_noting_one_among_ten_thousand_reads_few_of_them(
    tea_box: PaymentPage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, denied: bool
) -> None:
    monkeypatch.setattr(admission.random, "random", lambda: 0.5)
    made_up(MANY, denied=denied)
    spend(PAYER, sandbox)
    with CaptureQueriesContext(connection) as queries:
        found = confirm_payment("ONE", door=Door.CALLBACK, client_ip=PAYER)
    assert found.outcome is Outcome.UNAVAILABLE
    reads = [q["sql"] for q in queries.captured_queries if q["sql"].startswith("SELECT")]
    assert reads
    assert not [sql for sql in reads if "COUNT" in sql or "reference" not in sql]


def test_when_too_many_wait_the_oldest_that_names_no_page_makes_room(
    tea_box: PaymentPage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MAX_WAITING", 8)
    spend(PAYER, sandbox)
    reference = sandbox.pay("tea-box")
    come_back(reference, tea_box)
    for number in range(20):
        confirm_payment(f"OTHER-{number}", door=Door.CALLBACK, client_ip=PAYER)
    waiting = Verification.objects.filter(state=VerificationState.DUE)
    assert set(waiting.values_list("reference", flat=True)) == {
        reference, *(f"OTHER-{number}" for number in range(13, 20)),
    }  # fmt: skip
    assert Verification.objects.filter(state=VerificationState.UNKNOWN).count() == 5


def test_what_was_asked_about_or_is_vouched_for_makes_no_room(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MAX_WAITING", 3)
    for number in range(5):
        sandbox.add_transaction(f"PENDING-{number}", status="pending")
        confirm_payment(f"PENDING-{number}", door=Door.CALLBACK, client_ip=GUESSER)
        confirm_payment(f"VOUCHED-{number}", door=Door.WEBHOOK, vouched=True)
    spend(PAYER, sandbox)
    before = set(Verification.objects.values_list("pk", flat=True))
    for number in range(20):
        confirm_payment(f"OTHER-{number}", door=Door.CALLBACK, client_ip=PAYER)
    rows = Verification.objects.all()
    assert before <= set(rows.values_list("pk", flat=True))
    assert rows.count() == len(before) + 3


def test_one_network_cannot_push_the_others_out(
    tea_box: PaymentPage, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MAX_WAITING", 50)
    spend(PAYER, sandbox)
    reference = sandbox.pay("tea-box")
    come_back(reference, tea_box)
    for number in range(500):
        confirm_payment(
            f"G-{number}", door=Door.CALLBACK, client_ip=GUESSER, page_token=tea_box.token
        )
    waiting = Verification.objects.filter(reference__startswith="G-", asked_at=None)
    assert waiting.count() == admission.NOTED_PER_ASK * 5
    assert Verification.objects.filter(reference=reference).exists()


def test_a_sweep_among_ten_thousand_is_soon_done(sandbox: Sandbox) -> None:
    made_up(MANY)
    began = time.monotonic()
    assert sweep_due().outcomes == {Outcome.UNKNOWN: 20}
    assert time.monotonic() - began < 10
