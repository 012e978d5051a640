"""Finish a run, check its history, and print the table."""

import sys
from collections.abc import Iterable

from django.db import connection

from torture.chaos import Chaos
from torture.checking import Findings, check, check_control
from torture.finishing import come_back, finish, finish_control
from torture.pace import hurry
from torture.run import Options

__all__ = ["judge"]

SHOWN = 10


def judge(options: Options, chaos: Chaos) -> int:
    """Return the exit status, after printing the row, the faults and the verdict."""
    connection.close()
    hurry()
    if options.control is not None:
        finish_control(chaos.payments, options.control)
        found = check_control(chaos.payments)
        _print_table(options, chaos, found, returned=0)
        caught = bool(found.lost or found.doubled)
        _say("the control lost or doubled, as it must" if caught else "RED: nothing was noticed")
        return 0 if caught else 1
    # By the sweep alone first: a payer who looks again must not cover up what it left.
    left = finish()
    returned = come_back(chaos.payments, chaos.token)
    left += finish()
    found = check(chaos.payments, options.handler)
    found.lost.update(dict.fromkeys(left, "the sweep left it open"))
    _print_table(options, chaos, found, returned=returned)
    _show("lost", [f"{reference}: {why}" for reference, why in found.lost.items()])
    _show("doubled", [f"{reference}: {why}" for reference, why in found.doubled.items()])
    _show("broken", found.broken)
    for name, count in found.errors.items():
        _say(f"error that came out of the path: {name}, {count} times, first: {found.words[name]}")
    good = not (found.lost or found.doubled or found.broken or found.errors)
    _say("nothing lost, nothing doubled" if good else "RED")
    return 0 if good else 1


def _print_table(options: Options, chaos: Chaos, found: Findings, *, returned: int) -> None:
    cells: dict[str, object] = {
        "database": options.database,
        "way": options.way,
        "seconds": f"{options.seconds:g}",
        "references": found.references,
        "accepted": found.accepted,
        "delivered": found.delivered,
        "answers": found.calls,
        "kills": chaos.kills,
        "stops": chaos.stops,
        "database kills": chaos.server.kills,
        "lies": chaos.lies,
        "hung up": found.hung_up,
        "cut off": found.cut_off,
        "fenced off": found.fenced,
        "repeated": found.repeated,
        "came back": returned,
        "lost": len(found.lost),
        "doubled": len(found.doubled),
    }
    _say(_row(cells))
    _say(_row("---" for _cell in cells))
    _say(_row(cells.values()))


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _show(title: str, lines: list[str]) -> None:
    for line in lines[:SHOWN]:
        _say(f"{title}: {line}")
    if len(lines) > SHOWN:
        _say(f"{title}: and {len(lines) - SHOWN} more")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
