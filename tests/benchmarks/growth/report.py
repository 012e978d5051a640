"""Set what was measured side by side: milliseconds by size, and the last over the first."""

import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks.growth.operations import OPERATIONS

__all__ = ["PAGE", "markers", "ratios", "table", "write"]

PAGE = Path(__file__).resolve().parent.parent.parent.parent / "docs" / "growth.md"

Measured = Mapping[int, Sequence[Mapping[str, float]]]
"""By size, for each round, milliseconds by operation."""


def medians(measured: Measured) -> dict[str, dict[int, float]]:
    """Return the median of the rounds, by operation and size."""
    return {
        name: {
            size: statistics.median(found[name] for found in rounds)
            for size, rounds in sorted(measured.items())
        }
        for name in OPERATIONS
    }


def ratios(measured: Measured) -> dict[str, float]:
    """Return the time at the last size over that at the first, by operation."""
    found = medians(measured)
    return {name: times[max(times)] / times[min(times)] for name, times in found.items()}


def table(measured: Measured) -> str:
    """Return the table as Markdown."""
    sizes = sorted(measured)
    found, growth = medians(measured), ratios(measured)
    head = " | ".join(f"{size:,}" for size in sizes)
    lines = [
        f"| milliseconds, with payments: | {head} | last ÷ first |",
        "|---|" + "---:|" * (len(sizes) + 1),
    ]
    for name, title in OPERATIONS.items():
        times = " | ".join(f"{found[name][size]:.1f}" for size in sizes)
        lines.append(f"| {title} | {times} | {growth[name]:.2f} |")
    return "\n".join(lines)


def markers(server: str) -> tuple[str, str]:
    """Return what stands before and after the table of a kind of database in the page."""
    return f"<!-- tests.benchmarks.growth {server} -->", "<!-- end -->"


def write(server: str, text: str) -> None:
    """Put a table into the documentation."""
    begin, end = markers(server)
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    PAGE.write_text(pattern.sub(lambda _match: f"{begin}\n{text}\n{end}", PAGE.read_text()))
