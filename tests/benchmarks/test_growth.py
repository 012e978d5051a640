"""The growth benchmark loads, measures and judges; the documentation shows its tables."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.growth import report
from tests.benchmarks.growth.operations import OPERATIONS

ROOT = Path(__file__).resolve().parent.parent.parent
SIZES = ("300", "900")


def growth(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.growth", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_operation_is_measured_at_each_size(tmp_path: Path) -> None:
    where = ("--server-url", f"sqlite:///{tmp_path}/growth_{{size}}.sqlite3")
    for size in SIZES:
        loaded = growth("load", *where, "--transactions", size, "--due", "100")
        assert loaded.returncode == 0, loaded.stderr
        assert f"{size} payments on sqlite" in loaded.stdout
    measured = growth("measure", *where, "--sizes", *SIZES, "--rounds", "1")
    lines = measured.stdout.splitlines()
    assert lines[0] == "| milliseconds, with payments: | 300 | 900 | last ÷ first |", (
        measured.stderr
    )
    titles = [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]]
    assert titles == list(OPERATIONS.values())


def test_growth_is_the_last_size_over_the_first_by_the_medians_of_the_rounds() -> None:
    slow = {1000: [dict.fromkeys(OPERATIONS, t) for t in (1.0, 2.0, 90.0)]}
    slow[100] = [dict.fromkeys(OPERATIONS, 0.5)]
    assert set(report.ratios(slow).values()) == {4.0}
    assert report.table(slow).splitlines()[2].endswith("| 0.5 | 2.0 | 4.00 |")


@pytest.mark.parametrize("server", ["postgresql", "sqlite"])
def test_the_documentation_shows_the_table(server: str) -> None:
    begin, end = report.markers(server)
    shown = report.PAGE.read_text().partition(begin)[2].partition(end)[0]
    assert "| 1,000 | 100,000 | 1,000,000 | last ÷ first |" in shown
    for title in OPERATIONS.values():
        assert re.search(
            rf"\| {re.escape(title)} \| [\d.]+ \| [\d.]+ \| [\d.]+ \| [\d.]+ \|", shown
        )
