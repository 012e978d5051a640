"""Say whether a run was a good one, from what happened in it and what its history says."""

from collections.abc import Mapping

from tests.reliability.torture.findings import Findings
from tests.reliability.torture.run import Options

__all__ = ["control_faults", "faults", "too_quiet"]

SHOWN = 10
MUST: Mapping[str, str] = {
    "mark-first": "lost",
    "work-first": "doubled",
    "no-guard": "doubled",
    "unguarded": "doubled",
    "older-look": "lost",
}
"""The faults that each wrong way must show; otherwise the run could not have detected them."""

EARLY_WITHIN = 60.0
"""Seconds in which a notice is surely answered before verify confirms it, on a busy machine, too."""
CUT_OFF_WITHIN = 60.0
CUT_OFF_AT_LAST_WITHIN = 600.0
"""Seconds in which a delivery is surely cut off: an atomic one right behind the path; any other.

An external handler holds nothing that a kill would take back, and visitors over HTTP and messages
that are late leave fewer deliveries to be hit: two a minute were seen on a busy machine.
"""


def faults(found: Findings) -> list[str]:
    """Say what is wrong with a run of the package's own path; an empty result if nothing is."""
    errors = [
        f"error that came out of the path: {name}, {count} times, first: {found.words[name]}"
        for name, count in found.errors.items()
    ]
    return [
        *_some("lost", [f"{reference}: {why}" for reference, why in found.lost.items()]),
        *_some("doubled", [f"{reference}: {why}" for reference, why in found.doubled.items()]),
        *_some("broken", found.broken),
        *errors,
    ]


def too_quiet(options: Options, found: Findings, *, kills: int, database_kills: int) -> str:
    """Return what should have happened in a run and did not; without it the run proves nothing.

    Blank when all of it happened.
    """
    needed = {"accepted": found.accepted, "kills": kills}
    if options.database != "sqlite":
        needed["database kills"] = database_kills
    if options.seconds >= EARLY_WITHIN:
        needed["early"] = found.early
    plain = options.way == "atomic"
    if options.seconds >= (CUT_OFF_WITHIN if plain else CUT_OFF_AT_LAST_WITHIN):
        needed["cut off"] = found.cut_off
    missing = [name for name, count in needed.items() if not count]
    return f"too quiet: 0 in {', '.join(missing)}" if missing else ""


def control_faults(control: str, found: Findings) -> str:
    """Say what a control did not do, though its way is wrong; blank when it did."""
    must = MUST[control]
    done = found.lost if must == "lost" else found.doubled
    return "" if done else f"{control} must have {must} something, and has not"


def _some(title: str, lines: list[str]) -> list[str]:
    shown = [f"{title}: {line}" for line in lines[:SHOWN]]
    if len(lines) > SHOWN:
        shown.append(f"{title}: and {len(lines) - SHOWN} more")
    return shown
