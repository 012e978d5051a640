"""Nobody waits for a locked row: a handler that never returns stops no other payment."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from django.db import connection
from django.urls import reverse

from payments_pages.choices import Door, FulfilmentState, Outcome
from payments_pages.confirmation import confirm_payment, inbox, sweep_due
from payments_pages.confirmation.rivals import RIVAL_PATIENCE
from payments_pages.db import foreign_keys_lock
from payments_pages.models import Fulfilment, PaymentPage, Verification
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.staff import Attention, decisions, read_attention
from payments_pages.testing import let_time_pass
from tests.conftest import in_thread
from tests.integration.queues.workers import wait_until
from tests.reliability.races import handlers
from tests.reliability.races.handlers import STUCK
from tests.reliability.races.worker import Worker
from tests.support.goods.models import Good

pytestmark = [
    pytest.mark.race,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        "sqlite" in connection.settings_dict["ENGINE"],
        reason="there an atomic handler is the one writer of the database for its time",
    ),
]

LEASE = 1
THREADS = 8
ROOT = Path(__file__).resolve().parent.parent.parent.parent
QUICK = RIVAL_PATIENCE - 0.1
"""Seconds: less than somebody takes who waits for a rival, as much as a busy machine may need."""
SERVER_PATIENCE = 8.0
"""Seconds for which a caller of the server waits for a rival.

Longer than elsewhere: a request that had to wait for the waiting ones cannot be mistaken for one
that a busy machine answers late.
"""
IS_SERIALIZABLE = os.environ.get("TESTS_ISOLATION") == "serializable"
SAID_AT_ONCE = {
    Outcome.DELIVERING,
    Outcome.PENDING,
    *([Outcome.UNAVAILABLE] if IS_SERIALIZABLE else []),
}
"""At serializable the server may undo whoever reads beside a transaction that stays open, each
time anew (docs/torture.md): who is undone says "cannot confirm right now", and at once, too."""


LATER = pytest.param(True, id="asked before")
KINDS = [pytest.param(False, id="first ask"), LATER]
"""The first time that the service is asked, the record and the delivery are one transaction, which
has locked the verification; later it is the fulfilment."""


@pytest.fixture(autouse=True)
def _short_lease(configure: Any, tea_box: PaymentPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "HANGS", False)
    configure(HANDLER="tests.reliability.races.handlers.hang_on_one", LEASE=LEASE, DEADLINE=1)


def the_stuck() -> Fulfilment:
    return Fulfilment.objects.select_related("transaction").get(transaction__reference=STUCK)


def has_overrun() -> bool:
    return Fulfilment.objects.overrun().exists() or Verification.objects.overrun().exists()


def is_in_the_record() -> bool:
    """Say whether the handler hangs in the transaction of the record, which nobody else sees."""
    return not Fulfilment.objects.filter(transaction__reference=STUCK).exists()


def sessions() -> int:
    """Connections to this database, by the server."""
    count = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        if connection.vendor == "postgresql"
        else "SELECT count(*) FROM information_schema.processlist WHERE db = %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(count, [connection.settings_dict["NAME"]])
        return int(cursor.fetchone()[0])


@contextmanager
def hanging(
    worker: Worker, sandbox: Sandbox, tea_box: PaymentPage, *, asked_before: bool
) -> Iterator[Callable[[], None]]:
    """Start a process whose handler hangs and whose lease has ended; yield a function that kills it."""
    sandbox.pay("tea-box", reference=STUCK, status="pending" if asked_before else "success")
    if asked_before:
        confirm_payment(STUCK, door=Door.CALLBACK, page_token=tea_box.token)
        sandbox.set_transaction(STUCK, status="success")
        let_time_pass(61)  # nobody asks more often
    worker.begin({"reference": STUCK, "token": str(tea_box.token)})
    assert wait_until(has_overrun, seconds=20)
    alive = [True]

    def kill() -> None:
        if alive.pop():
            child = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()[0]
            os.kill(int(child), signal.SIGKILL)
            assert worker.finish()["killed"] == signal.SIGKILL

    try:
        yield kill
    finally:
        if alive:
            kill()


@pytest.fixture(params=KINDS)
def stuck(
    request: pytest.FixtureRequest, worker: Worker, sandbox: Sandbox, tea_box: PaymentPage
) -> Iterator[Callable[[], None]]:
    with hanging(worker, sandbox, tea_box, asked_before=request.param) as kill:
        in_the_record = not request.param and not foreign_keys_lock(connection.alias)
        assert is_in_the_record() is in_the_record
        yield kill


@pytest.mark.skipif(
    IS_SERIALIZABLE,
    reason="there the server undoes many others while one transaction stays open (docs/torture.md)",
)
def test_a_handler_that_never_returns_stops_neither_doors_nor_sweeps(
    stuck: Callable[[], None],
    all_workers: list[Worker],
    sandbox: Sandbox,
    tea_box: PaymentPage,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """200 other payments meanwhile; and once its process is dead, it is delivered once."""
    before = sessions()
    others = [sandbox.pay("tea-box", reference=f"OTHER-{number}") for number in range(200)]
    swept, called = others[:100], others[100:]
    for number, reference in enumerate(swept):
        inbox.remember(
            reference, reference_key(reference), door=Door.CALLBACK, page_hint=tea_box.token
        )
        confirm = confirm_payment(
            called[number], door=Door.CALLBACK, page_token=tea_box.token, deliver_now=True
        )
        assert confirm.outcome is Outcome.DELIVERED
    # Sweeps start as by cron, also if the last one has not ended.
    sweepers = all_workers[1:6]
    for sweeper in sweepers:
        time.sleep(2)
        sweeper.begin({"way": "sweep"})
    counts = [sweeper.finish()["rows"][0]["outcome"] for sweeper in sweepers]
    # Of what only the record's own transaction knows the others can say no more.
    said = Outcome.PENDING if is_in_the_record() else Outcome.DELIVERING
    assert min(count[said] for count in counts) >= 1, "each has met it"
    # The rows that became due during the sweeps and, at serializable, those the server rolled back.
    given = Good.objects.filter(reference__in=others)
    assert wait_until(lambda: bool(sweep_due()) and given.count() == 200, seconds=60)
    caplog.clear()
    report = sweep_due()
    assert report.outcomes == {said: 1}
    assert report.overrun == 1
    attention = read_attention()
    assert attention.overrun + attention.overrun_asks == 1
    assert [one.count for one in caplog.records if one.message.startswith("sweep.overrun")] == [1]
    assert not Good.objects.filter(reference=STUCK).exists()
    assert wait_until(lambda: sessions() <= before, seconds=5), "connections stay level"
    in_the_record = is_in_the_record()
    assert in_the_record or the_stuck().attempts == 1

    stuck()
    assert wait_until(lambda: sweep_due().outcomes[Outcome.DELIVERED] == 1, seconds=10)
    assert Good.objects.filter(reference=STUCK).count() == 1
    # Of an attempt in the record nothing is left: the sweep's is the first.
    attempts = 1 if in_the_record else 2
    assert (the_stuck().state, the_stuck().attempts) == (FulfilmentState.DELIVERED, attempts)
    assert sweep_due().overrun == 0
    assert read_attention() == Attention()


def test_reloads_of_a_payment_whose_handler_hangs_leave_the_other_requests_alone(
    server: str, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    """Twenty callers at the beginning, twenty after the lease; 300 others are answered at once."""
    sandbox.pay("tea-box", reference=STUCK)
    callback = server + reverse("payments_pages:page-callback", args=[tea_box.token])

    def reload() -> int:
        return get(f"{callback}?reference={STUCK}")[0]

    in_thread(reload)  # it keeps one thread of the server
    in_the_record = not foreign_keys_lock(connection.alias)
    begun = Verification.objects.filter(state="verifying" if in_the_record else "settled")
    assert wait_until(lambda: sandbox.verify_calls(STUCK) == 1 and begun.exists(), seconds=20)
    seconds: list[float] = []
    with ThreadPoolExecutor(60) as payers:
        for expired in (False, True):
            assert not expired or wait_until(has_overrun, seconds=20)
            reloads = [payers.submit(reload) for _number in range(20)]
            for _number in range(150):
                status, took = get(f"{server}/admin/login/")
                assert status == 200
                seconds.append(took)
            # There is no result page yet of what only that transaction has recorded.
            assert {reload.result() for reload in reloads} == {200 if in_the_record else 303}
    assert len(seconds) == 300
    assert max(seconds) < SERVER_PATIENCE / 2
    assert sorted(seconds)[290] < SERVER_PATIENCE / 8
    assert not Good.objects.exists()


@pytest.mark.usefixtures("stuck")
@pytest.mark.parametrize("door", [Door.CALLBACK, Door.WEBHOOK, Door.ADMIN])
def test_who_comes_for_it_is_told_at_once_that_it_is_being_delivered(
    sandbox: Sandbox, door: Door
) -> None:
    """From the database, or after another call to the service; also if it was reversed meanwhile.

    In the record, who wants a new call to the service is asked to come again.
    """
    refresh = door == Door.ADMIN
    in_the_record = is_in_the_record()
    asked = sandbox.verify_calls(STUCK)
    for status in ("success", "reversed"):
        time.sleep(2.1)  # nobody asks more often
        sandbox.set_transaction(STUCK, status=status)
        began = time.monotonic()
        found = confirm_payment(STUCK, door=door, vouched=door != Door.CALLBACK, refresh=refresh)
        if refresh and in_the_record:
            assert found.outcome is Outcome.UNAVAILABLE
        else:
            assert found.outcome in SAID_AT_ONCE
            assert (found.outcome is Outcome.PENDING) <= in_the_record
        assert time.monotonic() - began < QUICK
    calls = sandbox.verify_calls(STUCK) - asked
    if not (IS_SERIALIZABLE and refresh):  # who is undone may have asked once less
        assert calls == (2 if refresh and not in_the_record else 0)


def test_nor_does_who_asks_the_service_again_while_the_handler_holds_the_payment_itself(
    worker: Worker, sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    """On MariaDB each handler does so that inserts a row with a foreign key to the payment."""
    configure(HANDLER="tests.reliability.races.handlers.hang_on_one_and_hold_its_payment")
    with hanging(worker, sandbox, tea_box, asked_before=True):
        time.sleep(2.1)  # nobody asks more often
        asked = sandbox.verify_calls(STUCK)
        began = time.monotonic()
        found = confirm_payment(STUCK, door=Door.ADMIN, vouched=True, refresh=True)
        assert sandbox.verify_calls(STUCK) == asked + 1
        assert found.outcome is Outcome.UNAVAILABLE
        assert time.monotonic() - began < 2 * QUICK


@pytest.mark.usefixtures("stuck")
@pytest.mark.parametrize("stuck", [LATER], indirect=True)
@pytest.mark.parametrize("state", [FulfilmentState.FAILED, FulfilmentState.HELD])
def test_staff_who_saw_it_before_do_not_wait_either(state: FulfilmentState) -> None:
    row = the_stuck()
    row.state, row.attempts = state, 0
    row.reason = "attempts_spent" if state == FulfilmentState.HELD else ""
    began = time.monotonic()
    assert decisions.retry(row.transaction, actor="staff") is None
    assert decisions.reject(row.transaction, actor="staff", note="") is False
    assert time.monotonic() - began < QUICK


def get(address: str) -> tuple[int, float]:
    began = time.monotonic()
    with requests.Session() as session:
        session.trust_env = False
        status = session.get(address, timeout=60, allow_redirects=False).status_code
    return status, time.monotonic() - began


@pytest.fixture
def server(child_environment: Callable[[], dict[str, str]], tmp_path: Path) -> Iterator[str]:
    """The site under gunicorn: one process, few threads."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = (tmp_path / "gunicorn.log").open("w")
    process = subprocess.Popen(
        [
            sys.executable, "-m", "gunicorn", "tests.reliability.races.wsgi:application", "--no-control-socket",
            "--workers", "1", "--threads", str(THREADS), "--bind", f"127.0.0.1:{port}",
        ],
        cwd=ROOT,
        env={**child_environment(), "TESTS_RIVAL_PATIENCE": str(SERVER_PATIENCE)},
        stdout=log,
        stderr=log,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return get(f"{address}/admin/login/")[0] == 200
        except requests.ConnectionError:
            return False

    try:
        assert wait_until(answers, seconds=30), (tmp_path / "gunicorn.log").read_text()
        yield address
    finally:
        # Kill its workers, too, because a thread that hangs never ends.
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        process.kill()
        process.wait()
        log.close()
