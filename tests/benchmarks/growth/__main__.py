"""Measure how what people do grows with the payments that lie behind them.

    python -m tests.benchmarks.growth load --server postgresql --transactions 1000000
    python -m tests.benchmarks.growth measure --server postgresql [--sizes 1000 100000 1000000] [--write]

`load` makes a database and fills it: 500 pages, payments in three currencies, deliveries, asks and
timelines, and 1,000 references and some 440 deliveries that are due. Load each size that is to be
measured. `measure` prints a table; the sizes take turns, so that whatever else the machine does
meets all of them.
Exit code 1 when something takes more than twice as long with the most payments as with the fewest.
The databases are left for more measuring: var/pp_growth_….sqlite3, and pp_growth_… on a server.
"""

import argparse
import json
import sys
import time
from collections import defaultdict

from tests.benchmarks.growth import databases, report

SIZES = (1_000, 100_000, 1_000_000)
LIMIT = 2.0
"""The last size over the first, at most (our decision)."""


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("do", choices=["load", "fill", "measure"])
    parser.add_argument("--server", choices=databases.SERVERS, default="sqlite")
    parser.add_argument("--server-url", default="", help="an address with {size} in it")
    parser.add_argument("--transactions", type=int, default=SIZES[-1], help="how many to load")
    parser.add_argument("--due", type=int, default=1000, help="how much is due besides")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the table into docs/growth.md")
    options = parser.parse_args()
    if options.do == "fill":  # in a process that has the settings
        _fill(options.transactions, options.due)
        return 0
    if options.do == "load":
        _load(options, options.transactions)
        return 0
    return _measure(options)


def _load(options: argparse.Namespace, size: int) -> None:
    url = databases.database_url(options.server, size, options.server_url)
    began = time.monotonic()
    databases.create(url)
    counts = ("--transactions", str(size), "--due", str(options.due))
    databases.run(url, "-m", "tests.benchmarks.growth", "fill", *counts)
    print(f"{size:,} payments on {options.server}: {time.monotonic() - began:.0f} s", flush=True)


def _fill(size: int, due: int) -> None:
    import django

    django.setup()
    from django.utils import timezone

    from payments_pages.conf import conf
    from payments_pages.staff import keep_days
    from tests.benchmarks.growth.loading import load
    from tests.benchmarks.growth.rows import History

    load(History(size=size, mode=conf.mode, now=timezone.now(), due=due))
    keep_days()  # as sweeps have done by then


def _measure(options: argparse.Namespace) -> int:
    measured: dict[int, list[dict[str, float]]] = defaultdict(list)
    for _round in range(options.rounds):
        for size in sorted(options.sizes):
            url = databases.database_url(options.server, size, options.server_url)
            printed = databases.run(url, "-m", "tests.benchmarks.growth.operations")
            measured[size].append(json.loads(printed)["milliseconds"])
    text = report.table(measured)
    print(text)
    if options.write:
        report.write(options.server, text)
    slow = [name for name, ratio in report.ratios(measured).items() if ratio > LIMIT]
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
