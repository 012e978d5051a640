"""Write what was measured and simulated as Markdown, and put it into docs/capacity.md."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.benchmarks.capacity.constants import Constants
from tests.benchmarks.capacity.model import PEAK, Costs, Setup
from tests.benchmarks.capacity.simulating import Outcome
from tests.benchmarks.capacity.validating import LATENCY, SECONDS, Compared

__all__ = ["PAGE", "compared", "constants", "costs_of", "growth", "limits", "setups", "write"]

PAGE = Path(__file__).resolve().parent.parent.parent.parent / "docs" / "capacity.md"
YEAR = 365
Row = Sequence[object]


def costs_of(measured: Constants) -> Costs:
    """Return what the simulation needs of the constants."""
    return Costs(
        first=measured.first_cpu,
        settled=measured.settled_cpu,
        result=measured.result_cpu,
        first_database=measured.first_database_cpu,
        settled_database=measured.settled_database_cpu,
        result_database=measured.result_database_cpu,
        commits=round(measured.commits),
    )


def constants(measured: Constants) -> str:
    """Show what a payment costs."""
    first, settled, result = (
        f"{seconds * 1000:.1f} ms"
        for seconds in (measured.first_cpu, measured.settled_cpu, measured.result_cpu)
    )
    database = [
        f"{seconds * 1000:.1f} ms"
        for seconds in (
            measured.first_database_cpu,
            measured.settled_database_cpu,
            measured.result_database_cpu,
        )
    ]
    commits = ", ".join(
        f"{seconds * 1000:.1f} ms with {count}"
        for count, seconds in measured.commit_seconds.items()
    )
    inserts = ", ".join(
        f"{rate:,.0f} a second for {pages} page{'' if pages == '1' else 's'}"
        for pages, rate in measured.inserts_by_pages.items()
    )
    rows: list[Row] = [
        ("first callback", f"{measured.statements:g}", f"{measured.commits:g}", first, database[0]),
        ("settled callback, webhook", measured.settled_statements, 0, settled, database[1]),
        ("result page", measured.result_statements, 0, result, database[2]),
    ]
    return "\n\n".join(
        (
            _table(("", "statements", "commits", "our CPU", "PostgreSQL's CPU"), rows),
            (
                f"{measured.payments:,} payments one after the other on {measured.machine}. "
                f"A one-row commit took {commits} connections committing at once. Rows that refer to "
                f"the same page, committed by 16 connections without waiting for the disk: {inserts}."
            ),
        )
    )


def growth(measured: Constants) -> str:
    """Show what a payment leaves on the disk, and what is updated."""
    tables = ("verification", "transaction", "fulfilment", "event")
    rows: list[Row] = []
    total = 0.0
    for name in tables:
        own = [row for row in measured.relations if _table_of(row.name) == name]
        rows_bytes = sum(row.bytes for row in own if row.kind == "table")
        index_bytes = sum(row.bytes for row in own if row.kind == "index")
        total += rows_bytes + index_bytes
        inserted, updated, hot = measured.updates[f"payments_pages_{name}"]
        payments = measured.updates["payments_pages_transaction"][0]
        rows.append(
            (
                name,
                f"{inserted / payments:g}",
                f"{updated / payments:g} ({hot / payments:g})",
                f"{rows_bytes:,.0f} B",
                f"{index_bytes:,.0f} B",
                sum(row.bytes > 1 for row in own if row.kind == "index"),
            )
        )
    year = total * YEAR * 1000 / 2**30
    head = ("table", "rows inserted", "updated (in place)", "rows", "indexes", "indexes written")
    return "\n\n".join(
        (
            _table(head, rows),
            (
                f"Together {total:,.0f} bytes a payment: {year:.1f} GiB a year for each 1,000 payments a "
                f"day. The write-ahead log grows by {measured.wal_bytes:,.0f} bytes a payment "
                f"(with {measured.wal_page_images:.1f} images of whole pages, more just after a "
                f"checkpoint): {measured.wal_bytes * 1000 / 2**20:.0f} MiB for 1,000 payments."
            ),
        )
    )


def setups(rows: Iterable[tuple[str, Setup, float, Outcome]]) -> str:
    """Show what each set-up carries, and what is full then."""
    head = ("set-up", "rush, a minute", "payments a day", "full first", "50 %", "99 %", "use")
    return _table(
        head,
        [
            (
                name,
                f"{rate * 60:,.0f}",
                f"{_rounded(rate / PEAK * 86400):,}",
                first_of(outcome),
                f"{outcome.p50:.2f} s",
                f"{outcome.p99:.1f} s",
                ", ".join(
                    f"{part} {share:.0%}"
                    for part, share in sorted(outcome.use.items(), key=lambda item: -item[1])[:4]
                ),
            )
            for name, _setup, rate, outcome in rows
        ],
    )


def first_of(outcome: Outcome) -> str:
    """Name what a site that is a little over its capacity fails by."""
    if outcome.turned_away > 0.01:
        return "places for calls (`MAX_CALLS`)"
    return outcome.fullest


def limits(found: Mapping[str, float]) -> str:
    """Show how many payments a second fill each part by itself."""
    rows = sorted(found.items(), key=lambda item: item[1])
    return _table(("part", "filled by, a second"), [(name, f"{rate:,.0f}") for name, rate in rows])


def compared(rows: Iterable[Compared], load: float) -> str:
    """Show the real site beside the simulated one."""
    head = (
        "payments a second",
        "told to wait",
        "simulated",
        "50 %",
        "simulated",
        "99 %",
        "simulated",
    )
    table = _table(
        head,
        [
            (
                row.rate,
                f"{row.turned_away:.1%}",
                f"{row.simulated.turned_away:.1%}",
                f"{row.p50:.2f} s",
                f"{row.simulated.p50:.2f} s",
                f"{row.p99:.2f} s",
                f"{row.simulated.p99:.2f} s",
            )
            for row in rows
        ],
    )
    return (
        f"{table}\n\n{SECONDS} seconds each, at random moments; the service answers after "
        f"{LATENCY:g} s. Load average of the machine meanwhile: {load:.1f}."
    )


def write(name: str, text: str) -> None:
    """Put a text between its markers on the page."""
    page = PAGE.read_text()
    begin, end = f"<!-- tests.benchmarks.capacity {name} -->", "<!-- end -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"docs/capacity.md has no place for {name}.")
    PAGE.write_text(pattern.sub(lambda _match: f"{begin}\n{text}\n{end}", page))


def _table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(str(cell) for cell in line)} |".replace("|  |", "| |") for line in lines
    )


def _table_of(relation: str) -> str:
    """Name the table that a table or index belongs to: all our indexes are called after theirs."""
    name = relation.removeprefix("payments_pages_").removeprefix("pp_")
    return name.split("_", maxsplit=1)[0]


def _rounded(number: float) -> int:
    """Round to two digits: more would be a lie."""
    digits = len(str(int(number))) - 2
    return int(round(number, -digits)) if digits > 0 else int(number)
