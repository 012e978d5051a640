"""Read what processes hold, from /proc: memory, threads, connections. Linux only."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FIGURES", "Sample", "flat", "sample"]

FIGURES = ("memory", "threads", "sockets", "files", "database")
"""The figures of a sample that must not grow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Sum up some processes at one moment. `memory` is KiB that are theirs alone or their share."""

    at: float
    memory: int
    threads: int
    sockets: int
    files: int
    database: int


def sample(pids: Sequence[int], database: Callable[[], int]) -> Sample:
    """Take a sample of these processes; `database` counts the database's connections."""
    places = [Path("/proc") / str(pid) for pid in pids]
    links = [link for place in places for link in _open_files(place)]
    return Sample(
        at=time.monotonic(),
        memory=sum(_memory(place) for place in places),
        threads=sum(len(list((place / "task").iterdir())) for place in places),
        sockets=sum(link.startswith("socket:") for link in links),
        files=len(links),
        database=database(),
    )


def flat(samples: Sequence[Sample], figure: str, *, growth: float, slack: int) -> bool:
    """Say whether a figure's middle value of the last fifth is no higher than of the second.

    The first fifth is the warm-up. `growth` is the share that it may be higher by, `slack` the
    count: of connections a few more may be open at one moment than at another.
    """
    before, after = _middle(samples, figure, 1), _middle(samples, figure, 4)
    return after <= before * (1 + growth) + slack


def _middle(samples: Sequence[Sample], figure: str, fifth: int) -> float:
    part = len(samples) / 5
    chosen = samples[int(part * fifth) : int(part * (fifth + 1))] or samples[-1:]
    return statistics.median(getattr(one, figure) for one in chosen)


def _memory(place: Path) -> int:
    for line in (place / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise ValueError(f"{place} tells no memory.")


def _open_files(place: Path) -> list[str]:
    found = []
    for link in (place / "fd").iterdir():
        try:
            found.append(str(link.readlink()))
        except FileNotFoundError:  # closed meanwhile
            continue
    return found
