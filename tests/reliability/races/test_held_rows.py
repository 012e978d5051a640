"""Nobody waits for a row that somebody holds: a handler that never returns stops nobody else."""

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
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.references import reference_key
from payments_pages.sandbox import Sandbox
from payments_pages.staff import decisions, read_attention
from tests.conftest import in_thread
from tests.integration.queues.workers import wait_until
from tests.reliability.races.conftest import Worker
from tests.reliability.races.handlers import STUCK
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
QUICK = 1.5
"""Seconds; on a machine that is busy with other tests, and far below any wait for a lock."""
IS_SERIALIZABLE = os.environ.get("TESTS_ISOLATION") == "serializable"
SAID_AT_ONCE = {Outcome.DELIVERING, *([Outcome.UNAVAILABLE] if IS_SERIALIZABLE else [])}
"""At serializable the server may undo whoever reads beside a transaction that stays open, each
time anew (docs/torture.md): who is undone says "cannot confirm right now", and at once, too."""


@pytest.fixture(autouse=True)
def _short_lease(configure: Any, tea_box: PaymentPage) -> None:
    configure(HANDLER="tests.reliability.races.handlers.hang_on_one", LEASE=LEASE)


def the_stuck() -> Fulfilment:
    return Fulfilment.objects.select_related("transaction").get(transaction__reference=STUCK)


def has_overrun() -> bool:
    return Fulfilment.objects.due().filter(state=FulfilmentState.DELIVERING, attempts=1).exists()


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
def hanging(worker: Worker, sandbox: Sandbox, tea_box: PaymentPage) -> Iterator[Callable[[], None]]:
    """Be a process whose handler hangs, its lease over; called, it is killed."""
    sandbox.pay("tea-box", reference=STUCK)
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


@pytest.fixture
def stuck(worker: Worker, sandbox: Sandbox, tea_box: PaymentPage) -> Iterator[Callable[[], None]]:
    with hanging(worker, sandbox, tea_box) as kill:
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
            reference, reference_key(reference), door=Door.CALLBACK, page_claim=tea_box.token
        )
        confirm = confirm_payment(
            called[number], door=Door.CALLBACK, page_token=tea_box.token, deliver_now=True
        )
        assert confirm.outcome is Outcome.DELIVERED
    # Sweeps as cron starts them, whether the last one is done or not.
    sweepers = all_workers[1:6]
    for sweeper in sweepers:
        time.sleep(2)
        sweeper.begin({"way": "sweep"})
    counts = [sweeper.finish()["rows"][0]["outcome"] for sweeper in sweepers]
    assert min(count[Outcome.DELIVERING] for count in counts) >= 1, "each has met it"
    # What came due while the sweeps ran, and at serializable what the server has undone.
    given = Good.objects.filter(reference__in=others)
    assert wait_until(lambda: bool(sweep_due()) and given.count() == 200, seconds=60)
    caplog.clear()
    report = sweep_due()
    assert report.outcomes == {Outcome.DELIVERING: 1}
    assert report.overrun == read_attention().overrun == 1
    assert [one.count for one in caplog.records if one.message.startswith("sweep.overrun")] == [1]
    assert not Good.objects.filter(reference=STUCK).exists()
    assert wait_until(lambda: sessions() <= before, seconds=5), "connections stay level"
    assert the_stuck().attempts == 1

    stuck()
    assert wait_until(lambda: sweep_due().outcomes[Outcome.DELIVERED] == 1, seconds=10)
    assert Good.objects.filter(reference=STUCK).count() == 1
    assert (the_stuck().state, the_stuck().attempts) == (FulfilmentState.DELIVERED, 2)
    assert sweep_due().overrun == read_attention().overrun == 0


def test_reloads_of_a_payment_whose_handler_hangs_leave_the_other_requests_alone(
    server: str, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    """Twenty at the beginning, twenty after the lease; 300 others are answered at once."""
    sandbox.pay("tea-box", reference=STUCK)
    callback = server + reverse("payments_pages:page-callback", args=[tea_box.token])

    def reload() -> int:
        return get(f"{callback}?reference={STUCK}")[0]

    in_thread(reload)  # it keeps one thread of the server
    assert wait_until(Fulfilment.objects.exists, seconds=20)
    seconds: list[float] = []
    with ThreadPoolExecutor(60) as payers:
        for expired in (False, True):
            assert not expired or wait_until(has_overrun, seconds=20)
            reloads = [payers.submit(reload) for _number in range(20)]
            for _number in range(150):
                status, took = get(f"{server}/admin/login/")
                assert status == 200
                seconds.append(took)
            assert {reload.result() for reload in reloads} == {303}
    assert len(seconds) == 300
    assert max(seconds) < QUICK
    assert sorted(seconds)[290] < 0.5
    assert not Good.objects.exists()


@pytest.mark.usefixtures("stuck")
@pytest.mark.parametrize("door", [Door.CALLBACK, Door.WEBHOOK, Door.ADMIN])
def test_who_comes_for_it_is_told_at_once_that_it_is_being_delivered(
    sandbox: Sandbox, door: Door
) -> None:
    """By the database, or after another look at the service; also when it was reversed meanwhile."""
    for status in ("success", "reversed"):
        time.sleep(2.1)  # nobody asks more often
        sandbox.set_transaction(STUCK, status=status)
        began = time.monotonic()
        found = confirm_payment(
            STUCK, door=door, vouched=door != Door.CALLBACK, refresh=door == Door.ADMIN
        )
        assert found.outcome in SAID_AT_ONCE
        assert time.monotonic() - began < QUICK
    assert sandbox.verify_calls(STUCK) == (3 if door == Door.ADMIN else 1)


def test_nor_does_who_asks_the_service_again_while_the_handler_holds_the_payment_itself(
    worker: Worker, sandbox: Sandbox, tea_box: PaymentPage, configure: Any
) -> None:
    """As each does on MariaDB that writes a row which refers to the payment."""
    configure(HANDLER="tests.reliability.races.handlers.hang_on_one_and_hold_its_payment")
    with hanging(worker, sandbox, tea_box):
        time.sleep(2.1)  # nobody asks more often
        began = time.monotonic()
        found = confirm_payment(STUCK, door=Door.ADMIN, vouched=True, refresh=True)
        assert sandbox.verify_calls(STUCK) == 2
        assert found.outcome is Outcome.UNAVAILABLE
        assert time.monotonic() - began < 2 * QUICK


@pytest.mark.usefixtures("stuck")
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
        env=child_environment(),
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
        # Its workers with it: a thread that hangs is not waited for.
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        process.kill()
        process.wait()
        log.close()
