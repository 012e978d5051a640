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
from django.utils import translation

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
    assert run("payments_pages_sweep") == ""
    let_time_pass(3600)
    assert "1 unavailable" in run("payments_pages_sweep")
    sandbox.faults.clear()
    let_time_pass(3600)
    assert run("payments_pages_sweep") == "Swept 1: 1 delivered.\n"
    assert Good.objects.count() == 1
    let_time_pass(3600)
    assert run("payments_pages_sweep") == ""
    assert run("payments_pages_sweep", verbosity=2) == "Nothing was due.\n"


def test_the_sweep_retries_a_failed_delivery_when_it_is_due(
    tea_box: PaymentPage, sandbox: Sandbox, configure: Any
) -> None:
    configure(HANDLER="tests.support.goods.handlers.fail_first")
    confirm_payment(sandbox.pay("tea-box"), door=Door.CALLBACK, page_token=tea_box.token)
    row = Fulfilment.objects.get()
    assert (row.state, row.attempts) == (FulfilmentState.FAILED, 1)
    assert Good.objects.count() == 0
    assert run("payments_pages_sweep") == ""
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
    with pytest.raises(CommandError, match="1 row raised"):
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
    assert run("payments_pages_confirm", paid) == f"{paid}: delivered now\n1 of 1 delivered.\n"
    cheap = sandbox.pay("tea-box", amount=1, metadata={"referrer": f"{sandbox.pay_url}/tea-box"})
    configure(ATTRIBUTION=("metadata", "amount"))
    summary = (
        "1 of 4 delivered:\n"
        "  1 delivered before\n"
        "  1 no valid reference\n"
        "  1 not paid\n"
        "  1 paid; held for staff"
    )
    out = io.StringIO()
    with pytest.raises(CommandError) as refused, translation.override("ar"):
        call_command("payments_pages_confirm", paid, failed, "../page/18", cheap, stdout=out)
    assert str(refused.value) == summary
    assert out.getvalue() == (
        f"{paid}: delivered before\n"
        f"{failed}: not paid\n"
        "../page/18: no valid reference\n"
        f"{cheap}: paid; held for staff: paid less than the price\n"
        f"{summary}\n"
    )
    assert Good.objects.count() == 1


def test_sync_counts_and_a_dry_run_writes_nothing(db: None, sandbox: Sandbox) -> None:
    for number in range(3):
        sandbox.add_page(name=f"Page {number}", slug=f"page-{number}", amount=100)
    assert run("payments_pages_sync", "--dry-run").startswith("Would have synced 3 pages: 3 added")
    assert PaymentPage.objects.count() == 0
    err = io.StringIO()
    assert run("payments_pages_sync", stderr=err).startswith("Synced 3 pages: 3 added")
    assert err.getvalue() == (
        "3 active pages cost 1.00\u00a0ILS: page-0, page-1, page-2. "
        "The amount does not tell them apart.\n"
    )
    assert "3 unchanged" in run("payments_pages_sync", stderr=err)
    sandbox.set_page("page-0", amount=5)
    run("payments_pages_sync", stderr=err)
    assert "Not as last set here: 1 page." in err.getvalue()
    sandbox.faults.add(operation="list", kind="status", status=500)
    with pytest.raises(CommandError, match="broke off"):
        run("payments_pages_sync")


def test_sync_names_no_more_pages_of_one_price_than_a_terminal_shows(
    db: None, sandbox: Sandbox
) -> None:
    for number in range(23):
        sandbox.add_page(slug=f"page-{number:02}", amount=100)
    err = io.StringIO()
    run("payments_pages_sync", stderr=err)
    assert "23 active pages" in err.getvalue()
    assert "page-18, page-19 and 3 more. The amount" in err.getvalue()


@pytest.mark.parametrize(("arguments", "written"), [((), 100), (("--dry-run",), 0)])
def test_f12_a_dry_run_that_breaks_off_says_that_nothing_was_written(
    db: None, sandbox: Sandbox, arguments: tuple[str, ...], written: int
) -> None:
    for number in range(150):
        sandbox.add_page(slug=f"page-{number}", amount=100)
    sandbox.set_account(max_per_page=100)
    pages = list(sandbox.state.pages())[:100]
    body = {"status": True, "data": pages, "meta": {"total": 150, "page": 1, "pageCount": 2}}
    sandbox.faults.add(operation="list", kind="status", status=200, body=body, times=1)
    sandbox.faults.add(operation="list", kind="status", status=500)
    with pytest.raises(CommandError, match="broke off") as caught:
        run("payments_pages_sync", *arguments)
    said = str(caught.value)
    assert ("What was read until then is mirrored." in said) is not bool(arguments)
    assert ("Nothing was written." in said) is bool(arguments)
    assert PaymentPage.objects.count() == written


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
