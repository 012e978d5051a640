"""Keep the sums of past days, sum them up anew, or compare them with the payments."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from payments_pages.counts import counted
from payments_pages.management.progress import Progress
from payments_pages.staff import Difference, compare_days, keep_days

__all__ = ["Command"]


class Command(BaseCommand):
    """The command: what the sweep does a few days at a time, at once; and the proof of it."""

    help = (
        "Keep what each past day of the totals came to, so that no view of the list of payments "
        "sums up a month. The sweep does it, too; run this after payments were written by other "
        "means than this app, such as an import: --compare says whether they were, and --rebuild "
        "sums up all days anew. May be stopped at any time and run again. "
        "Exit code 1: --compare found a difference."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add --rebuild and --compare."""
        how = parser.add_mutually_exclusive_group()
        how.add_argument(
            "--rebuild", action="store_true", help="also sum up the days that are kept already"
        )
        how.add_argument(
            "--compare",
            action="store_true",
            help="only sum up each kept day, and print where it differs",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do it; print one line, and one for each difference."""
        line = Progress(self.stdout)
        if options["compare"]:
            self._compare(line)
            return
        count = keep_days(
            rebuild=options["rebuild"], progress=lambda done: line.show(f"{counted(done, 'day')} …")
        )
        line.clear()
        self.stdout.write(f"Kept the sums of {counted(count, 'day')}, of both modes.")

    def _compare(self, line: Progress) -> None:
        compared = 0

        def show(done: int) -> None:
            nonlocal compared
            compared = done
            line.show(f"{counted(done, 'day')} …")

        differences = compare_days(progress=show)
        line.clear()
        for one in differences:
            self.stdout.write(_told(one))
        if differences:
            raise CommandError("The sums above are wrong: run payments_pages_totals --rebuild.")
        self.stdout.write(f"Compared {counted(compared, 'day')}, of both modes: no difference.")


def _told(one: Difference) -> str:
    kept, found = (
        f"{counted(count, 'payment')}, {amount} minor units, {unreadable} unreadable"
        for count, amount, unreadable in (one.kept, one.found)
    )
    return (
        f"{one.mode} {one.since:%Y-%m-%d %H:%M} UTC {one.code or '-'}: kept {kept}; found {found}"
    )
