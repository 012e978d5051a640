"""Measure callbacks against the floor and the peers, on PostgreSQL and on SQLite.

    python -m tests.benchmarks [--quick] [--write] [--database ADDRESS] [--without-peers]

Prints the tables; `--write` puts them into docs/speed.md, with the picture beside it. Ends with 1
when a target is missed or a peer could not be measured.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
import urllib.request
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks.callbacks.databases import SQLITE, server_version
from tests.benchmarks.callbacks.measuring import QUICK, Scale, measure
from tests.benchmarks.callbacks.peers import peers_python, peers_versions
from tests.benchmarks.callbacks.picture import bars
from tests.benchmarks.callbacks.report import Target, floor_table, peer_table, rows, targets
from tests.benchmarks.callbacks.servers import ROOT, Answers, answering, recorded
from tests.benchmarks.callbacks.sites import OURS, peer_sites, sites

PAGE = ROOT / "docs" / "speed.md"
PICTURE = ROOT / "docs" / "speed.svg"
BEGIN, END = "<!-- bench -->", "<!-- end -->"
POSTGRESQL = "postgres://postgres@127.0.0.1:5432/postgres"
CLIENTS = {"ours": False, "pypaystack2": True, "paystackapi": True}
"""The clients, and whether the peers' environment has them."""


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller rounds")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/speed.md")
    parser.add_argument(
        "--database",
        action="append",
        help=f'"sqlite" or a PostgreSQL server; may be repeated (default: {POSTGRESQL}, sqlite)',
    )
    parser.add_argument("--without-peers", action="store_true", help="only the floor and ours")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep all that was measured")
    options = parser.parse_args()
    scale = QUICK if options.quick else Scale()
    databases = options.database or [os.environ.get("BENCH_POSTGRESQL", POSTGRESQL), SQLITE]
    python, why = ("", "left out") if options.without_peers else peers_python()
    started = time.monotonic()
    found: dict[str, Any] = {}
    with answering(recorded(*sandbox_answer())) as answers:
        for address in databases:
            name = server_version(address)
            print(f"{name}:", file=sys.stderr, flush=True)
            found[name] = measure(
                [*sites(), *(peer_sites(python) if python else [])], address, answers, scale
            )
        clients = _clients(answers, python, scale)
    if options.json:
        options.json.write_text(json.dumps({"databases": found, "clients": clients}, indent=1))
    missing = {} if python else dict.fromkeys(peers_versions(), why)
    ratio = clients["ours"]
    judged = {name: targets(one, ratio) for name, one in found.items()}
    minutes = (time.monotonic() - started) / 60
    text = _text(found, clients, judged, missing, minutes)
    print(text)
    if options.write:
        _write(text, found)
    met = all(target.met for one in judged.values() for target in one)
    return 0 if met and (python or options.without_peers) else 1


def sandbox_answer() -> tuple[bytes, str]:
    """Let a sandbox answer once."""
    from payments_pages.sandbox import Sandbox

    with Sandbox(secret_key="sk_test_bench") as sandbox:
        sandbox.add_page(name="Tea box", slug="tea-box", amount=10000)
        reference = sandbox.pay("tea-box", reference="RECORDED-BY-THE-BENCHMARK")
        request = urllib.request.Request(
            f"{sandbox.base_url}/transaction/verify/{reference}",
            headers={"Authorization": "Bearer sk_test_bench"},
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.read(), reference


def _clients(answers: Answers, python: str, scale: Scale) -> dict[str, float | None]:
    """Return, by client, how many times a bare verify its own costs."""
    found: dict[str, float | None] = {}
    for name, is_peer in CLIENTS.items():
        runs_on = python if is_peer else sys.executable
        if not runs_on:
            found[name] = None
            continue
        command = [runs_on, "-m", "tests.benchmarks.callbacks.clients", name, answers.url]
        done = subprocess.run(
            [*command, str(scale.rounds * 3), "60"],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=True,
        )
        times = json.loads(done.stdout.splitlines()[-1])
        ratios = sorted(a / b for a, b in zip(times[name], times["bare"], strict=True))
        found[name] = ratios[len(ratios) // 2]
    return found


def _text(
    found: dict[str, Any],
    clients: dict[str, float | None],
    judged: dict[str, list[Target]],
    missing: dict[str, str],
    minutes: float,
) -> str:
    packages = ("Django", "gunicorn", "psycopg", "requests", "urllib3")
    versions = [f"Python {platform.python_version()}", *found]
    versions += [f"{name} {version(name)}" for name in packages] + peers_versions()
    parts = [
        f"Measured with {', '.join(versions)}; {os.cpu_count()} cores, {minutes:.0f} minutes.",
        "### Targets",
        rows(
            [
                "",
                *(
                    f"{name}, aimed at" if not number else name
                    for name in found
                    for number in (0, 1)
                ),
            ],
            _target_lines(judged),
        ),
    ]
    for name, one in found.items():
        parts += [f"### Against the floor, on {name}", floor_table(one)]
        parts += [f"### Against the peers, on {name}", peer_table(one, missing)]
    lines = [[name, "–" if ratio is None else f"{ratio:.2f}"] for name, ratio in clients.items()]
    parts += ["### The client alone", rows(["", "CPU of a verify, × bare"], lines)]
    return "\n\n".join(parts)


def _target_lines(judged: dict[str, list[Target]]) -> list[list[str]]:
    lines: dict[str, list[str]] = {}
    for one in judged.values():
        for target in one:
            result = target.found if target.met else f"**missed:** {target.found}"
            lines.setdefault(target.name, []).extend([target.aimed, result])
    return [[name, *cells] for name, cells in lines.items()]


def _write(text: str, found: dict[str, Any]) -> None:
    page = PAGE.read_text()
    pattern = f"{BEGIN}.*?{END}"
    PAGE.write_text(
        re.sub(pattern, lambda _match: f"{BEGIN}\n{text}\n{END}", page, flags=re.DOTALL)
    )
    lines = []
    for name, one in found.items():
        for site, kinds in one.items():
            if "first" in kinds:
                kind = "ours" if site == OURS else ""
                wrong = kinds["duplicates"]["deliveries"] != kinds["duplicates"]["payments"]
                label = f"{site}{' (wrong)' if wrong else ''}, {name.split()[0]}"
                lines.append((label, kinds["first"]["cpu"] * 1000, kind))
    PICTURE.write_text(bars("CPU of a first callback (less is better)", lines, "ms"))


if __name__ == "__main__":
    sys.exit(main())
