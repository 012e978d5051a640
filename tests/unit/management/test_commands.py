"""The commands, as cron and people run them."""

import io
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from payments_pages.choices import Door, FulfilmentState
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)


def run(name: str, *args: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(name, *args, stdout=out, **options)
    return out.getvalue()


def test_the_sweep_delivers_what_was_paid_while_the_service_was_down(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="status", status=503)
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert run("payments_pages_sweep") == "Swept 0.\n"
    let_time_pass(3600)
    assert "1 unavailable" in run("payments_pages_sweep")
    sandbox.faults.clear()
    let_time_pass(3600)
    assert run("payments_pages_sweep") == "Swept 1: 1 delivered.\n"
    assert Good.objects.count() == 1
    let_time_pass(3600)
    assert run("payments_pages_sweep") == "Swept 0.\n"


def test_the_sweep_retries_a_failed_delivery_when_it_is_due(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_first")
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts) == (FulfilmentState.FAILED, 1)
    assert Good.objects.count() == 0
    assert run("payments_pages_sweep") == "Swept 0.\n"
    let_time_pass(3600)
    assert run("payments_pages_sweep") == "Swept 1: 1 delivered.\n"
    row.refresh_from_db()
    assert (row.state, row.attempts) == (FulfilmentState.DELIVERED, 2)
    assert Good.objects.count() == 1


def test_one_bad_row_stops_no_other(tea_box: PaymentPage, sandbox: Sandbox, configure: Any) -> None:
    sandbox.faults.add(operation="verify", kind="status", status=503, times=4)  # each asked twice
    bad, good = sandbox.pay("tea-box", reference="BAD_1"), sandbox.pay("tea-box")
    for reference in (bad, good):
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    configure(REFERENCE_PATTERN=r"[A-Za-z0-9]{1,128}")
    let_time_pass(3600)
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 rows raised"):
        call_command("payments_pages_sweep", stdout=out)
    assert "1 delivered" in out.getvalue()
    assert Good.objects.get().reference == good


def test_unknown_references_are_forgotten_after_a_day_unless_vouched_for(
    tea_box: PaymentPage, sandbox: Sandbox
) -> None:
    import datetime as dt

    confirm_payment("MADE-UP-1", door=Door.CALLBACK)
    confirm_payment("NAMED-BY-STAFF", door=Door.ADMIN, vouched=True)
    Verification.objects.update(named_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    assert "1 unknown forgotten" in run("payments_pages_sweep")
    assert [row.reference for row in Verification.objects.all()] == ["NAMED-BY-STAFF"]


def test_confirm_prints_a_line_each_and_tells_cron(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(ATTRIBUTION=("amount",))
    paid, failed = sandbox.pay("tea-box"), sandbox.pay("tea-box", status="failed")
    assert run("payments_pages_confirm", paid) == "1 of 1 delivered: 1 delivered.\n"
    out = io.StringIO()
    with pytest.raises(
        CommandError, match="1 of 3 delivered: 1 already_delivered, 1 invalid, 1 not_paid"
    ):
        call_command("payments_pages_confirm", paid, failed, "../page/18", stdout=out)
    assert f"{failed}: not_paid" in out.getvalue()
    assert "../page/18: invalid" in out.getvalue()
    assert Good.objects.count() == 1


def test_sync_counts_and_a_dry_run_writes_nothing(db: None, sandbox: Sandbox) -> None:
    for number in range(3):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=100)
    assert run("payments_pages_sync", "--dry-run").startswith("Would have synced 3 pages: 3 added")
    assert PaymentPage.objects.count() == 0
    err = io.StringIO()
    assert run("payments_pages_sync", stderr=err).startswith("Synced 3 pages: 3 added")
    assert "3 active pages cost 1.00\u00a0ILS" in err.getvalue()
    assert "3 unchanged" in run("payments_pages_sync", stderr=err)
    sandbox.set_page("page-0", amount=5)
    run("payments_pages_sync", stderr=err)
    assert "1 pages are not as they were last set here" in err.getvalue()
    sandbox.faults.add(operation="list", kind="status", status=500)
    with pytest.raises(CommandError, match="broke off"):
        run("payments_pages_sync")


@pytest.mark.slow
def test_the_watching_sweep_stops_cleanly_when_told(
    tea_box: PaymentPage, sandbox: Sandbox, child_environment: Callable[[], dict[str, str]]
) -> None:
    command = [
        sys.executable,
        "-m",
        "django",
        "payments_pages_sweep",
        "--watch",
        "--interval",
        "0.2",
    ]
    reference = sandbox.pay("tea-box")
    sandbox.faults.add(operation="verify", kind="status", status=503, times=2)  # asked twice
    confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    let_time_pass(3600)
    process = subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 30
        while not Good.objects.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=15)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Swept 1: 1 delivered." in out
    assert out.endswith("Stopped.\n")
    assert Good.objects.count() == 1
