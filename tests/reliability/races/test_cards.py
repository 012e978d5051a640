"""Eight payments with one card at the same moment: each is delivered once, and the card saved once."""

import os
import threading
import time
from collections import Counter
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.db import connection, transaction

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import PaymentPage, SavedCard
from payments_pages.sandbox import Sandbox
from payments_pages.staff import rekey_cards
from payments_pages.testing import run_sweep
from tests.conftest import in_thread
from tests.reliability.races.conftest import HEAD_START, Team
from tests.support.goods.models import Good

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

NOOR = "noor@example.test"
ISOLATION = os.environ.get("TESTS_ISOLATION")
SERIALIZABLE = ISOLATION == "serializable"
HAS_ROW_LOCKS = connection.vendor != "sqlite"


@pytest.fixture
def noor(sandbox: Sandbox, configure: Any, transactional_db: None) -> User:
    configure(
        SAVE_CARD="tests.support.goods.owners.by_email",
        CARD_KEYS=[Fernet.generate_key().decode()],
    )
    return User.objects.create_user(NOOR)


def rush(team: Team, page: PaymentPage, references: list[str], **settings: Any) -> Counter[str]:
    """Confirm a reference in each process, by two threads each; the outcomes of all."""
    start_at = time.time() + HEAD_START
    for worker, reference in zip(team.workers, references, strict=True):
        job = {"reference": reference, "token": str(page.token), "threads": 2}
        worker.begin({**job, "start_at": start_at, "settings": settings})
    rows = [row for worker in team.workers for row in worker.finish()["rows"]]
    assert [row["error"] for row in rows if "error" in row] == []
    return Counter(row["outcome"] for row in rows)


def delivered_by_doors_or_sweep(outcomes: Counter[str], references: list[str]) -> None:
    """Assert that each payment was delivered by a door, or at other isolation levels by the sweep.

    There the database refuses who changes a row that has changed since it was read. A payer who is
    refused four times is told to come again, and the sweep delivers.
    """
    if ISOLATION:
        assert outcomes[Outcome.DELIVERED], "whoever commits first is not refused"
        run_sweep(after=3600)
    else:
        assert outcomes[Outcome.DELIVERED] == len(references)


@pytest.mark.parametrize("known", [False, True], ids=["a new card", "a known card"])
@pytest.mark.parametrize("handler", ["give", "slow"])
def test_payments_with_one_card_at_once_save_it_once(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox, noor: User, known: bool, handler: str
) -> None:
    if known:
        first = sandbox.pay("tea-box", email=NOOR)
        confirm_payment(first, door=Door.CALLBACK, page_token=tea_box.token)
    references = [sandbox.pay("tea-box", email=NOOR) for _worker in team.workers]
    outcomes = rush(team, tea_box, references, HANDLER=f"tests.support.goods.handlers.{handler}")
    delivered_by_doors_or_sweep(outcomes, references)
    assert Good.objects.filter(reference__in=references).count() == len(references)
    assert SavedCard.objects.count() == 1
    assert SavedCard.objects.get().authorization_code().startswith("AUTH_")


def test_payments_with_different_cards_of_one_owner_at_once_are_all_delivered(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox, noor: User
) -> None:
    """Their cards are saved, too, save where so many look for the owner's row that one gives up."""

    def pay(number: int) -> str:
        card = {"authorization_code": f"AUTH_LEAKCODE{number}", "channel": "card", "reusable": True}
        card["signature"] = f"SIG_{number}"
        return sandbox.pay("tea-box", email=NOOR, authorization=card)

    references = [pay(number) for number in range(len(team.workers))]
    delivered_by_doors_or_sweep(rush(team, tea_box, references), references)
    assert Good.objects.count() == len(references)
    if not ISOLATION:
        assert SavedCard.objects.count() >= len(references) // 2


def test_keys_are_changed_while_payments_bring_new_codes(
    team: Team, tea_box: PaymentPage, sandbox: Sandbox, noor: User, configure: Any
) -> None:
    old, new = (Fernet.generate_key().decode() for _key in range(2))
    configure(CARD_KEYS=[old])
    first = sandbox.pay("tea-box", email=NOOR)
    confirm_payment(first, door=Door.CALLBACK, page_token=tea_box.token)
    references = [sandbox.pay("tea-box", email=NOOR) for _worker in team.workers]
    configure(CARD_KEYS=[new, old])
    stop = threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            rekey_cards(progress=lambda done: None)

    turning = in_thread(go_on)
    try:
        outcomes = rush(team, tea_box, references)
    finally:
        stop.set()
    turning.result(timeout=30)
    delivered_by_doors_or_sweep(outcomes, references)
    assert Good.objects.filter(reference__in=references).count() == len(references)
    assert SavedCard.objects.get().authorization_code().startswith("AUTH_")


@pytest.mark.skipif(not HAS_ROW_LOCKS, reason="SQLite locks the whole database")
@pytest.mark.skipif(
    SERIALIZABLE and connection.vendor == "mysql",
    reason="there every read waits for locks, also that of the merchant's function",
)
@pytest.mark.parametrize("known", [False, True], ids=["a new card", "a known card"])
def test_nobody_waits_for_an_owner_whose_row_is_locked(
    tea_box: PaymentPage, sandbox: Sandbox, noor: User, known: bool, caplog: Any
) -> None:
    """As by a handler of the merchant's that runs for another payment of the same user."""
    if known:
        first = sandbox.pay("tea-box", email=NOOR)
        confirm_payment(first, door=Door.CALLBACK, page_token=tea_box.token)
    reference = sandbox.pay("tea-box", email=NOOR)
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=noor.pk)
            locked.set()
            done.wait(timeout=30)

    holding = in_thread(hold)
    assert locked.wait(timeout=10)
    started = time.monotonic()
    try:
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
        seconds = time.monotonic() - started
    finally:
        done.set()
    holding.result(timeout=30)
    assert found.outcome is Outcome.DELIVERED
    assert seconds < 2
    assert SavedCard.objects.exists() is known
    assert ("locked the row" in caplog.text) is not known


@pytest.mark.skipif(not HAS_ROW_LOCKS, reason="SQLite locks the whole database")
def test_a_user_who_is_being_deleted_leaves_no_card(
    tea_box: PaymentPage, sandbox: Sandbox, noor: User
) -> None:
    reference = sandbox.pay("tea-box", email=NOOR)
    deleted, done = threading.Event(), threading.Event()

    def delete() -> None:
        with transaction.atomic():
            User.objects.get(pk=noor.pk).delete()
            deleted.set()
            done.wait(timeout=30)

    deleting = in_thread(delete)
    assert deleted.wait(timeout=10)
    try:
        found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    finally:
        done.set()
    deleting.result(timeout=30)
    assert found.outcome is Outcome.DELIVERED
    assert not SavedCard.objects.exists()
