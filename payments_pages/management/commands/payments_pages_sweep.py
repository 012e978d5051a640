"""Verify and deliver what is due: run it every minute, or with --watch."""

import logging
import signal
import time
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, close_old_connections

from payments_pages.conf import conf
from payments_pages.confirmation import SweepReport, oldest_due, sweep_due
from payments_pages.db import is_transient
from payments_pages.management.progress import Progress

__all__ = ["Command"]

logger = logging.getLogger("payments_pages.sweeping")


class Command(BaseCommand):
    """The command: takes all that is due through the path, once or until stopped."""

    help = (
        "Ask the service about waiting references and make the deliveries that are due. "
        "Run it every minute by cron, or with --watch as a service. Any number may run at once. "
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

    def handle(self, *_args: Any, **options: Any) -> None:
        """Sweep; with --watch, end after the row in hand when told to stop."""
        if options["batch"] < 1 or options["interval"] <= 0:
            raise CommandError("--batch and --interval must be above zero.")
        if options["age"]:
            self._print_age()
            return
        if not options["watch"]:
            report = self._sweep(options["batch"], _Stop())
            if report.errors:
                raise CommandError(f"{report.errors} rows raised an error; see the log.")
            return
        stop = _Stop()
        stop.on_signals()
        while not stop.asked:
            self._sweep_if_possible(options["batch"], stop)
            stop.sleep(options["interval"])
        self.stdout.write("Stopped.")

    def _sweep_if_possible(self, batch: int, stop: "_Stop") -> None:
        """Sweep once; go on after a database error, because nobody else would finish the work."""
        close_old_connections()
        try:
            self._sweep(batch, stop, quiet=True)
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

    def _sweep(self, batch: int, stop: "_Stop", *, quiet: bool = False) -> SweepReport:
        line = Progress(self.stdout)
        report = sweep_due(
            batch=batch,
            progress=lambda report: line.show(f"{report.taken} taken …"),
            stop=lambda: stop.asked,
        )
        line.clear()
        if report.taken or report.purged or not quiet:
            self.stdout.write(_summary(report))
        return report


def _summary(report: SweepReport) -> str:
    parts = [f"{count} {outcome}" for outcome, count in sorted(report.outcomes.items())]
    if report.errors:
        parts.append(f"{report.errors} errors")
    if report.purged:
        parts.append(f"{report.purged} unknown forgotten")
    said = f"Swept {report.taken}" + (f": {', '.join(parts)}." if parts else ".")
    if report.overrun:
        said += f" {report.overrun} deliveries have run for longer than their lease."
    if report.other_mode:
        said += (
            f" {report.other_mode} of the other mode (test/live) wait until MODE is switched back."
        )
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
