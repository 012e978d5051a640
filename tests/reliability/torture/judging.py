"""Finish a run, check its history, and print the table."""

import sys
from collections.abc import Iterable

from django.db import connection

from tests.reliability.torture.chaos import Chaos
from tests.reliability.torture.checking import check, check_control
from tests.reliability.torture.controls import CONTROLS
from tests.reliability.torture.findings import Findings
from tests.reliability.torture.finishing import come_back, finish, finish_control, sweep_twice
from tests.reliability.torture.handlers import stop_dawdling
from tests.reliability.torture.pace import hurry
from tests.reliability.torture.run import Options
from tests.reliability.torture.verdicts import control_faults, faults, too_quiet

__all__ = ["judge"]


def judge(options: Options, chaos: Chaos) -> int:
    """Return the exit status, after printing the row, the faults and the verdict."""
    connection.close()
    hurry()
    stop_dawdling()
    if options.control is not None and options.control in CONTROLS:
        finish_control(chaos.payments, options.control)
        found = check_control(chaos.payments)
        _print_table(options, chaos, found, returned=0)
    else:
        found = _judge_path(options, chaos)
    if options.control is not None:
        wrong = control_faults(options.control, found)
        return _end(wrong, good="the control went wrong, as it must")
    wrong = too_quiet(options, found, kills=chaos.kills, database_kills=chaos.server.kills)
    return _end(
        wrong or ("the promise is broken" if faults(found) else ""),
        good="nothing lost, nothing doubled",
    )


def _judge_path(options: Options, chaos: Chaos) -> Findings:
    """Finish and check what the package's own path did, and print what is wrong."""
    # First by the sweep alone: a payer who comes back must not hide what the sweep has left.
    unheard = sweep_twice()
    first = finish()
    returned = come_back(chaos.payments, chaos.token)
    second = finish()
    found = check(chaos.payments, options.handler)
    found.lost.update(unheard.references)
    for left in (first, second):
        found.lost.update(dict.fromkeys(left.open, "the sweep left it open"))
    for swept in (unheard, first, second):
        for _row in range(swept.errors):
            found.count_error("SweptRow", "a row raised an error in a sweep at the end")
    _print_table(options, chaos, found, returned=returned)
    for line in faults(found):
        _say(line)
    return found


def _end(wrong: str, *, good: str) -> int:
    _say(f"RED: {wrong}" if wrong else good)
    return 1 if wrong else 0


def _print_table(options: Options, chaos: Chaos, found: Findings, *, returned: int) -> None:
    cells: dict[str, object] = {
        "database": options.database,
        "way": options.way,
        "seconds": f"{options.seconds:g}",
        "references": found.references,
        "accepted": found.accepted,
        "delivered": found.delivered,
        "signed": found.signed,
        "early": found.early,
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


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
