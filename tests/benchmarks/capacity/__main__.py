"""Measure, validate or simulate; see the package."""

import argparse
import os
import sys
from dataclasses import replace

from payments_pages.conf import conf
from tests.benchmarks.capacity import tables
from tests.benchmarks.capacity.constants import load, save
from tests.benchmarks.capacity.model import PEAK, Costs, Demand, Latency, Setup
from tests.benchmarks.capacity.simulating import Outcome, capacity, limits, simulate

__all__ = ["main"]

OVER = 1.25
"""How far over its capacity a site is looked at, to see what is full first."""

ONE = Setup()
WIDE = Setup(threads=32, max_calls=28)
SETUPS: dict[str, tuple[Setup, Latency]] = {
    "1 node, 2 processes × 8 threads, `MAX_CALLS` 4": (ONE, Demand(per_second=1).latency),
    "… `MAX_CALLS` 6": (replace(ONE, max_calls=6), Demand(per_second=1).latency),
    "1 node, 2 × 16 threads, `MAX_CALLS` 12": (
        Setup(threads=16, max_calls=12),
        Demand(per_second=1).latency,
    ),
    "1 node, 2 × 32 threads, `MAX_CALLS` 28": (WIDE, Demand(per_second=1).latency),
    "… a service four times as slow": (WIDE, Latency(median=1.0, p99=6.0)),
    "2 nodes of those": (replace(WIDE, nodes=2), Demand(per_second=1).latency),
    "4 nodes of those, database of 4 cores": (
        replace(WIDE, nodes=4, database_cores=4),
        Demand(per_second=1).latency,
    ),
    "8 nodes of those, database of 8 cores": (
        replace(WIDE, nodes=8, database_cores=8),
        Demand(per_second=1).latency,
    ),
}


def main() -> int:
    """Do what is asked for, print it, and keep it with --write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["measure", "validate", "simulate"])
    parser.add_argument("--payments", type=int, default=10_000, help="payments to measure with")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/capacity.md")
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.benchmarks.capacity.settings"
    made = {"measure": _measure, "validate": _validate, "simulate": _simulate}[options.what](
        options
    )
    for name, text in made.items():
        print(f"\n{name}\n\n{text}")
        if options.write:
            tables.write(name, text)
    return 0


def _measure(options: argparse.Namespace) -> dict[str, str]:
    from tests.benchmarks.capacity.measuring import measure

    measured = measure(options.payments)
    if options.write:
        save(measured)
    return {"constants": tables.constants(measured), "growth": tables.growth(measured)}


def _validate(_options: argparse.Namespace) -> dict[str, str]:
    from tests.benchmarks.capacity.validating import validate

    measured = load()
    setup = replace(ONE, flush=measured.commit_seconds["1"], max_calls=conf.limits.max_calls)
    rows = validate(tables.costs_of(measured), setup)
    return {"validate": tables.compared(rows, os.getloadavg()[0])}


def _simulate(_options: argparse.Namespace) -> dict[str, str]:
    measured = load()
    costs = tables.costs_of(measured)
    flush = measured.commit_seconds["1"]
    rows = []
    for name, (fast, latency) in SETUPS.items():
        print(f"{name} …", file=sys.stderr)
        setup = replace(fast, flush=flush)
        demand = Demand(per_second=1.0, latency=latency)
        rate = capacity(setup, costs, demand)
        over = simulate(setup, costs, replace(demand, per_second=rate * OVER), seconds=60)
        rows.append((name, setup, rate, over))
    one, day = rows[0][1], _day(rows[0][1], costs, rows[0][2])
    return {
        "setups": tables.setups(rows),
        "limits": tables.limits(limits(one, costs, Demand(per_second=1.0))),
        "day": day,
    }


def _day(setup: Setup, costs: Costs, rate: float) -> str:
    """Simulate a whole day whose rush is what the site carries."""
    demand = Demand(per_second=rate / PEAK, daily=True)
    found: Outcome = simulate(setup, costs, demand, seconds=86400.0)
    return (
        f"A whole day on the first of these, whose rush is what it carries: {found.callbacks:,} "
        f"payments, {found.turned_away:.2%} told to wait, half of the others after "
        f"{found.p50:.2f} s and 99 % within {found.p99:.1f} s, beyond the service's own time within "
        f"{found.wait_p99:.2f} s. The sweep had done the last of those told to wait after "
        f"{found.oldest:.0f} s at most."
    )


if __name__ == "__main__":
    sys.exit(main())
