"""The constants of one payment, as measured and kept in `measured.json`."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["KEPT", "Constants", "Relation", "load", "save"]

KEPT = Path(__file__).with_name("measured.json")


@dataclass(frozen=True, slots=True)
class Relation:
    """Say how many bytes a payment adds to one table or index."""

    name: str
    kind: str
    bytes: float


@dataclass(frozen=True, slots=True)
class Constants:
    """Hold what one payment costs. Seconds of CPU are a core's; bytes are on PostgreSQL's disk.

    "First" is the callback that asks, records and delivers; "settled" one that comes again;
    "result" the page a payer is then sent to. The handler's own work is in none of them.
    """

    machine: str
    payments: int
    statements: float
    commits: float
    first_cpu: float
    first_database_cpu: float
    first_seconds: float
    settled_cpu: float
    settled_statements: int
    settled_database_cpu: float
    result_cpu: float
    result_statements: int
    result_database_cpu: float
    wal_bytes: float
    wal_page_images: float
    relations: list[Relation]
    updates: dict[str, list[int]]
    """By table: rows inserted, updated, and updated in place without touching an index (HOT)."""
    commit_seconds: dict[str, float] = field(default_factory=dict)
    """By the number of connections that commit at once: mean seconds of a one-row commit."""
    inserts_by_pages: dict[str, float] = field(default_factory=dict)
    """By how many pages they refer to: rows a second that 16 connections commit, without the disk."""


def load(path: Path = KEPT) -> Constants:
    """Read the constants kept."""
    found = json.loads(path.read_text())
    return Constants(**{**found, "relations": [Relation(**row) for row in found["relations"]]})


def save(constants: Constants, path: Path = KEPT) -> None:
    """Keep constants, rounded to what a measurement on a shared machine can tell."""
    found = json.loads(
        json.dumps(asdict(constants)), parse_float=lambda text: float(f"{float(text):.4g}")
    )
    path.write_text(json.dumps(found, indent=1) + "\n")
