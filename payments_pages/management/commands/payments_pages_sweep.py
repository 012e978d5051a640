"""Verify and deliver what is due: run it every minute, or with --watch."""

import logging
import signal
import time
from argparse import ArgumentParser
from math import inf
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, close_old_connections

from payments_pages.conf import conf
from payments_pages.confirmation import SweepReport, oldest_due, sweep_due
from payments_pages.counts import counted
from payments_pages.db import is_transient
from payments_pages.exceptions import OtherSite
from payments_pages.limits import LEAST_CALLS
from payments_pages.management.progress import Progress
from payments_pages.staff import keep_some_days

__all__ = ["Command"]

logger = logging.getLogger("payments_pages.sweeping")

SECONDS = 50.0
"""The time limit of a run by cron, which starts one every minute. A row that is begun is finished."""


class Command(BaseCommand):
    """The command: takes all that is due through the path, once or until stopped."""

    help = (
        "Ask the service about waiting references and make the deliveries that are due. "
        "Run it every minute by cron, or with --watch as a service. Any number may run at once: "
        "they share the work. "
        "Exit code 1: some rows raised an error; they stay due."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add --watch and its pace."""
        parser.add_argument("--watch", action="store_true", help="go on until stopped")
        parser.add_argument(
            "--interval", type=float, default=10, help="seconds between two sweeps of --watch"
        )
        parser.add_argument(
            "--age",
            action="store_true",
            help="only print for how many seconds the oldest due row has waited; "
            "exit code 1 when that is more than OVERDUE",
        )
        parser.add_argument("--batch", type=int, default=100, help="rows read at a time")
        parser.add_argument(
            "--seconds",
            type=float,
            help="begin no further row after so many seconds, and say what is left; "
            f"{SECONDS:.0f} unless --watch is given",
        )
        parser.add_argument(
            "--jobs",
            type=int,
            default=1,
            help="threads that share the work; at most MAX_CALLS, because no more may wait for "
            "the service at the same time",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Sweep; with --watch, end after the row in hand when told to stop."""
        if options["batch"] < 1 or options["interval"] <= 0:
            raise CommandError("--batch and --interval must be above zero.")
        seconds = options["seconds"]
        if options["jobs"] < 1 or (seconds is not None and seconds <= 0):
            raise CommandError("--jobs and --seconds must be above zero.")
        if options["age"]:
            self._print_age()
            return
        places = conf.limits.max_calls or LEAST_CALLS
        if options["jobs"] > places:
            raise CommandError(
                f"--jobs must not be above MAX_CALLS, which is {places}: the others "
                "could not ask the service. Run more sweeps, or raise MAX_CALLS for this command."
            )
        if not options["watch"]:
            report = self._sweep(options, _Stop())
            if report.errors:
                raise CommandError(f"{counted(report.errors, 'row')} raised an error; see the log.")
            return
        stop = _Stop()
        stop.on_signals()
        while not stop.asked:
            self._sweep_if_possible(options, stop)
            stop.sleep(options["interval"])
        self.stdout.write("Stopped.")

    def _sweep_if_possible(self, options: dict[str, Any], stop: "_Stop") -> None:
        """Sweep once; go on after a database error, because nobody else would finish the work."""
        close_old_connections()
        try:
            self._sweep(options, stop)
        except (DatabaseError, InterfaceError) as error:
            if not is_transient(error):
                raise
            logger.warning("sweep.database_away", extra={"error": type(error).__name__})

    def _print_age(self) -> None:
        age = oldest_due()
        seconds = 0 if age is None else max(0, int(age.total_seconds()))
        self.stdout.write(str(seconds))
        if seconds > conf.overdue:
            raise CommandError(
                f"The oldest due row has waited for {seconds} s: is a sweep running?"
            )

    def _sweep(self, options: dict[str, Any], stop: "_Stop") -> SweepReport:
        line = Progress(self.stdout)
        try:
            return self._take(options, stop, line)
        except OtherSite as error:
            raise CommandError(str(error)) from error

    def _take(self, options: dict[str, Any], stop: "_Stop", line: Progress) -> SweepReport:
        report = sweep_due(
            batch=options["batch"],
            seconds=options["seconds"] or (inf if options["watch"] else SECONDS),
            jobs=options["jobs"],
            progress=lambda report: line.show(f"{report.taken} taken …"),
            stop=lambda: stop.asked,
        )
        line.clear()
        if report.taken or report.purged or (_waiting(report) and not options["watch"]):
            self.stdout.write(_summary(report))
        elif not _waiting(report) and options["verbosity"] > 1:
            # Otherwise silent: cron sends what is printed by e-mail, once a minute.
            self.stdout.write("Nothing was due.")
        if not stop.asked:
            keep_some_days()
        return report


def _summary(report: SweepReport) -> str:
    parts = [f"{count} {outcome}" for outcome, count in sorted(report.outcomes.items())]
    if report.errors:
        parts.append(counted(report.errors, "error"))
    if report.purged:
        parts.append(f"{report.purged} unknown forgotten")
    return f"Swept {report.taken}" + (f": {', '.join(parts)}." if parts else ".") + _waiting(report)


def _waiting(report: SweepReport) -> str:
    """Return what is to be said of rows that were not taken; blank if there is nothing."""
    said = ""
    if report.left:
        said += f" The time is over. Left for the next sweep: {counted(report.left, 'due row')}."
    if report.unasked:
        said += f" The service keeps failing. Waiting until it answers: {counted(report.unasked, 'reference')}."
    if report.overrun:
        said += " Running for longer than the lease: "
        said += f"{counted(report.overrun, 'delivery', 'deliveries')}."
    if report.other_mode:
        said += f" Of the other mode (test/live), waiting until MODE is switched back: {report.other_mode}."
    return said


class _Stop:
    """The request to stop. A plain flag, because a signal handler must not take a lock."""

    def __init__(self) -> None:
        self.asked = False

    def on_signals(self) -> None:
        """Listen to SIGTERM and SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def sleep(self, seconds: float) -> None:
        """Sleep, and wake soon after being asked to stop."""
        until = time.monotonic() + seconds
        while not self.asked and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True
