"""The benchmark of callbacks measures what it says, and the documentation shows its tables."""

import json
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from tests.benchmarks.__main__ import BEGIN, END, PAGE, PICTURE
from tests.benchmarks.callbacks.answerer import PLACE
from tests.benchmarks.callbacks.load import Line, Request, rush, together
from tests.benchmarks.callbacks.peers import peers_versions
from tests.benchmarks.callbacks.picture import bars
from tests.benchmarks.callbacks.report import Found, peer_table, targets
from tests.benchmarks.callbacks.servers import ROOT, answering, recorded
from tests.benchmarks.callbacks.sites import FLOOR, OURS, RIGHT_FLOOR


def figures(cpu: float, rate: float = 100.0, **more: Any) -> dict[str, Any]:
    found = {"cpu": cpu, "cpu_rounds": [cpu] * 3, "rate": rate, "p50": 0.01, "p99": 0.02}
    usual = {"statuses": {303: 480}, "calls": 60, "requests": 480, "connections": 1}
    rest = {"deliveries": 60, "payments": 60}
    cost = {"statements": 9, "commits": 2, "bytes": 1000}
    return {**found, **usual, **rest, "cost": cost, **more}


def measured(right: dict[str, Any] | None = None, **ours: dict[str, Any]) -> Found:
    return {
        FLOOR: {
            "first": figures(0.001),
            "query": figures(0.001),
            "duplicates": figures(0.001),
            "result": figures(0.001),
        },
        RIGHT_FLOOR: {"first": figures(0.0015), "duplicates": figures(0.001), **(right or {})},
        OURS: {
            "first": figures(0.002, rate=300.0),
            "settled": figures(0.0012),
            "duplicates": figures(0.001),
            "result": figures(0.0015),
            **ours,
        },
        "django-paystack-wallet": {"first": figures(0.01), "duplicates": figures(0.01)},
        "django-payments": {
            "first": figures(0.002, rate=300.0),
            "duplicates": figures(0.01, deliveries=90),
        },
    }


def test_figures_on_their_targets_meet_them() -> None:
    assert [target.name for target in targets(measured(), 1.15) if not target.met] == []


@pytest.mark.parametrize(
    ("ours", "missed"),
    [
        ({"first": figures(0.00205, rate=300.0)}, ["CPU of a first callback, × floor"]),
        (
            {"first": figures(0.0022, rate=300.0)},
            ["CPU of a first callback, × floor", "CPU of a first callback, × right floor"],
        ),
        ({"settled": figures(0.0013)}, ["CPU of a settled callback"]),
        ({"result": figures(0.0016)}, ["CPU of a result page"]),
        (
            {"right": {"duplicates": figures(0.001, deliveries=61)}},
            ["the right floor's 60 payments"],
        ),
        ({"first": figures(0.002, rate=299.0)}, ["django-paystack-wallet", "django-payments"]),
        ({"duplicates": figures(0.001, deliveries=61)}, ["duplicates"]),
        ({"duplicates": figures(0.001, calls=59)}, ["duplicates"]),
        ({"duplicates": figures(0.001, statuses={303: 479, 500: 1})}, ["duplicates"]),
        ({"duplicates": figures(0.001, statuses={303: 479, 0: 1})}, ["duplicates"]),
        (
            {"first": figures(0.002, 300.0, cost={"statements": 10, "commits": 2, "bytes": 1})},
            ["statements"],
        ),
        (
            {"first": figures(0.002, 300.0, cost={"statements": 9, "commits": 3, "bytes": 1})},
            ["statements"],
        ),
    ],
)
def test_a_missed_target_is_said(ours: dict[str, Any], missed: list[str]) -> None:
    names = [target.name for target in targets(measured(**ours), 1.0) if not target.met]
    assert len(names) == len(missed)
    for name, part in zip(names, missed, strict=True):
        assert part in name


def test_fast_and_wrong_is_shown_as_wrong_and_a_missing_peer_in_a_line() -> None:
    lines = peer_table(measured(), {"dj-stripe 2.11.0": "no such package"}).splitlines()
    verdicts = {line.split(" | ")[0].strip("| "): line.rsplit(" | ", 1)[1] for line in lines}
    assert verdicts["django-payments"] == "**wrong** |"
    assert verdicts["django-paystack-wallet"] == "right |"
    assert "not measured: no such package" in lines[-1]


def test_the_answerer_answers_the_recorded_bytes_for_each_reference_and_counts() -> None:
    answer = recorded(b'{"data": {"reference": "PPG-1"}}', "PPG-1")
    assert PLACE in answer
    with answering(answer) as answers:
        for reference in ("A-1", "A-1", "B-2"):
            address = f"{answers.url}/transaction/verify/{reference}"
            with urllib.request.urlopen(address, timeout=10) as response:
                assert json.load(response) == {"data": {"reference": reference}}
        assert answers.counts() == {"calls": {"A-1": 2, "B-2": 1}, "connections": 3}
        assert answers.counts() == {"calls": {}, "connections": 0}


def test_the_load_sends_every_request_once_and_keeps_its_lines_open() -> None:
    with answering(b"{}") as answers:
        port = int(answers.url.split(":")[2].split("/")[0])
        requests = [Request(f"/api/transaction/verify/R-{number}") for number in range(20)]
        load = rush(port, requests, lines=4)
        assert (load.statuses, len(load.times)) == ({200: 20}, 20)
        found = answers.counts()
        assert found["calls"] == {f"R-{number}": 1 for number in range(20)}
        assert found["connections"] <= 4
        assert together(port, requests[:3], times=5).statuses == {200: 15}
        assert answers.counts()["calls"] == {"R-0": 5, "R-1": 5, "R-2": 5}


def test_who_does_not_answer_is_counted_as_none() -> None:
    assert Line(9).ask(Request("/").encoded()) == 0


def test_the_client_bench_runs_beside_a_bare_session() -> None:
    data = '{"status": true, "data": {"reference": "R", "status": "success"}}'
    with answering(recorded(data.replace('"R"', '"RR"').encode(), "RR")) as answers:
        command = [
            sys.executable,
            "-m",
            "tests.benchmarks.callbacks.clients",
            "ours",
            answers.url,
            "2",
            "3",
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    found = json.loads(done.stdout)
    assert {name: len(rounds) for name, rounds in found.items()} == {"bare": 2, "ours": 2}


def test_a_picture_draws_each_bar_to_scale() -> None:
    picture = bars("A < B", [("one", 1.0, ""), ("two", 2.0, "ours")], "ms")
    assert "A &lt; B" in picture
    widths = [part.split('"')[0] for part in picture.split('width="')[2:]]
    assert [float(width) for width in widths] == [165.0, 330.0]


def test_the_documentation_shows_tables_and_picture() -> None:
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    for part in ("### Targets", "on PostgreSQL", "on SQLite", "first callback", "paystackapi"):
        assert part in shown
    assert "</svg>" in PICTURE.read_text()


def test_each_peer_has_a_version() -> None:
    assert len(peers_versions()) >= 3
    assert all(len(line.split()) == 2 for line in peers_versions())
