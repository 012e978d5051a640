"""References by hand: named, from a file, or all that wait; and what cron is told."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from payments_pages.choices import Door
from payments_pages.confirmation import confirm_payment
from payments_pages.models import ExpectedPayment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from payments_pages.testing import let_time_pass
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good
from tests.unit.test_marks import MARKS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("tea_box")]

DAY = 24 * 3600


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("payments_pages_confirm", *arguments, stdout=out)
    return out.getvalue()


def delivered_of(printed: str) -> str:
    (counts,) = re.findall(r"^(\d+ of \d+) delivered", printed, re.MULTILINE)
    return str(counts)


def test_references_come_from_a_file_one_a_line(sandbox: Sandbox, tmp_path: Path) -> None:
    first, second = pay(sandbox), pay(sandbox)
    file = tmp_path / "references.txt"
    file.write_bytes(f"\ufeff{first}\r\n\n  {second}  \n{first}\n".encode())
    assert run("--file", str(file)) == (
        f"{first}: delivered now\n{second}: delivered now\n2 of 2 delivered:\n  2 delivered now\n"
    )
    assert Good.objects.count() == 2


def test_d10_pasted_marks_are_dropped_from_names_and_files(
    sandbox: Sandbox, tmp_path: Path, tea_box: PaymentPage
) -> None:
    named, first, second, third = (pay(sandbox) for _number in range(4))
    everything = "".join(MARKS)
    plain = tmp_path / "references.txt"
    lines = [
        f"\u2066{first}\u2069",
        everything,
        f"{everything}{second[:3]}\u00ad{second[3:]}\u200f",
    ]
    plain.write_bytes(("\ufeff" + "\r\n".join(lines)).encode())
    pasted = f"\u202b{named}\u202c"
    assert delivered_of(run(pasted, "--file", str(plain))) == "3 of 3"
    table = tmp_path / "table.csv"
    table.write_bytes(f"\ufeff\u200freference;Status\n\u200e{third}\u200e;\u200esuccess\n".encode())
    slug = f"\u200e{tea_box.slug}\u200f"
    arguments = ("--file", str(table), "--column", "\u200freference", "--page", slug)
    assert delivered_of(run(*arguments)) == "1 of 1"
    assert Good.objects.count() == 4


def test_named_ones_and_those_of_a_file_are_each_taken_once(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    reference = pay(sandbox)
    file = tmp_path / "references.txt"
    file.write_text(reference)
    assert delivered_of(run(reference, reference, "--file", str(file))) == "1 of 1"


def test_a_dash_reads_standard_input(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{pay(sandbox)}\n{pay(sandbox)}\n"))
    assert delivered_of(run("--file", "-")) == "2 of 2"


def test_what_does_not_print_is_shown_by_escapes_and_stops_nothing(sandbox: Sandbox) -> None:
    """Bytes that are not UTF-8 come in as such a letter, and a terminal obeys control characters."""
    reference = pay(sandbox)
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    named = ("PPG\udcff", "PPG\x1b[2J", reference)
    with pytest.raises(CommandError):
        call_command("payments_pages_confirm", *named, stdout=out)
    assert raw.getvalue().decode().splitlines()[:3] == [
        '"PPG\\udcff": no valid reference',
        '"PPG\\u001b[2J": no valid reference',
        f"{reference}: delivered now",
    ]


def test_an_empty_file_is_no_error(sandbox: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "references.txt"
    file.write_text("\n")
    assert run("--file", str(file)) == "0 of 0 delivered.\n"


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_said(
    sandbox: Sandbox, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "references.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError, match=r"references\.txt cannot be read"):
        run("--file", str(file))


def test_pending_takes_all_that_this_site_still_asks_about(sandbox: Sandbox) -> None:
    given = pay(sandbox)
    run(given)
    waiting = pay(sandbox, status="pending")
    unknown = "NOT-YET"
    expected = ExpectedPayment.objects.expect(amount=10000, currency="ILS").reference
    for reference in (waiting, unknown):
        confirm_payment(reference, door=Door.CALLBACK)
    with pytest.raises(CommandError, match=r"0 of 3 .*\n  1 not paid yet\n  2 unknown"):
        run("--pending")
    let_time_pass(10)
    sandbox.set_transaction(waiting, status="success")
    pay(sandbox, reference=unknown)
    pay(sandbox, reference=expected)
    assert delivered_of(run("--pending")) == "3 of 3"
    assert run("--pending") == "0 of 0 delivered.\n"
    assert sandbox.verify_calls(given) == 1


def test_pending_takes_what_was_given_up_too(sandbox: Sandbox) -> None:
    reference = pay(sandbox, status="pending")
    confirm_payment(reference, door=Door.CALLBACK)
    let_time_pass(4 * DAY)
    confirm_payment(reference, door=Door.SWEEP)
    let_time_pass(100)
    sandbox.set_transaction(reference, status="success")
    assert delivered_of(run("--pending")) == "1 of 1"


def test_since_leaves_out_what_came_before(sandbox: Sandbox) -> None:
    old, new = pay(sandbox, status="pending"), pay(sandbox, status="pending")
    confirm_payment(old, door=Door.CALLBACK)
    let_time_pass(2 * DAY)
    confirm_payment(new, door=Door.CALLBACK)
    let_time_pass(10)
    for reference in (old, new):
        sandbox.set_transaction(reference, status="success")
    import datetime as dt

    yesterday = dt.datetime.now(tz=dt.UTC) - dt.timedelta(days=1)
    assert delivered_of(run("--pending", "--since", yesterday.isoformat())) == "1 of 1"
    assert Good.objects.get().reference == new
    assert delivered_of(run("--pending", "--since", "2020-01-01")) == "1 of 1"


@pytest.mark.parametrize("time", ["yesterday", "2026-13-01", "2026-02-30T10:00", "12:00", ""])
def test_a_time_that_cannot_be_read_is_refused_with_an_example(sandbox: Sandbox, time: str) -> None:
    with pytest.raises(CommandError, match="2026-11-27T21:00"):
        run("--pending", "--since", time)


@pytest.mark.parametrize(
    "arguments", [[], ["--since", "2026-01-01"], ["A", "--since", "2026-01-01"]]
)
def test_a_call_that_says_nothing_to_do_is_refused(sandbox: Sandbox, arguments: list[str]) -> None:
    with pytest.raises(CommandError, match="--pending"):
        run(*arguments)


def test_refresh_asks_about_what_is_settled(sandbox: Sandbox) -> None:
    reference = pay(sandbox)
    run(reference)
    sandbox.set_transaction(reference, status="reversed")
    let_time_pass(60)
    assert delivered_of(run(reference)) == "1 of 1"
    assert delivered_of(run(reference, "--refresh")) == "1 of 1"
    assert Transaction.objects.get().status == "reversed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paid", "code", "out"),
    [
        (True, 0, "PPG-1: delivered now\n1 of 1 delivered.\n"),
        (False, 1, "PPG-1: unknown to the service\n0 of 1 delivered.\n"),
    ],
)
def test_cron_is_told_by_exit_code_and_a_pipe_holds_no_progress(
    sandbox: Sandbox,
    child_environment: Callable[[], dict[str, str]],
    paid: bool,
    code: int,
    out: str,
) -> None:
    if paid:
        pay(sandbox, reference="PPG-1")
    done = subprocess.run(
        [sys.executable, "-m", "django", "payments_pages_confirm", "PPG-1"],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (code, out)
    assert "Error" not in done.stderr
    assert "\r" not in done.stdout + done.stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_how_far_it_is_and_the_line_is_taken_away(sandbox: Sandbox) -> None:
    out: Any = Terminal()
    first, second = pay(sandbox), pay(sandbox)
    call_command("payments_pages_confirm", first, second, stdout=out)
    assert out.getvalue() == (
        f"\r\x1b[K1 of 2 …\r\x1b[K{first}: delivered now\n"
        f"\r\x1b[K2 of 2 …\r\x1b[K{second}: delivered now\n"
        "2 of 2 delivered:\n  2 delivered now\n"
    )
