"""Update the pages from the service."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from payments_pages.conf import conf
from payments_pages.counts import counted
from payments_pages.exceptions import ServiceError
from payments_pages.management.progress import Progress
from payments_pages.money import format_amount
from payments_pages.pages import pages_of_equal_price, sync_pages

__all__ = ["Command"]


_MIRRORED = "What was read until then is mirrored."
_NAMED = 20
"""The most pages of one price that are named."""


class Command(BaseCommand):
    """The command: updates the pages from the service's list."""

    help = "Mirror the service's pages. Nothing is deleted or deactivated, here or there."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add --dry-run."""
        parser.add_argument("--dry-run", action="store_true", help="count, but write nothing")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Sync; print one summary line, and what staff should look at."""
        line = Progress(self.stdout)
        try:
            report = sync_pages(
                dry_run=options["dry_run"],
                progress=lambda seen: line.show(f"{counted(seen, 'page')} …"),
            )
        except ServiceError as error:
            line.clear()
            read = "Nothing was written." if options["dry_run"] else _MIRRORED
            raise CommandError(f"The listing broke off: {error} {read}") from error
        line.clear()
        would = "Would have synced" if options["dry_run"] else "Synced"
        self.stdout.write(
            f"{would} {counted(report.seen, 'page')}: {report.added} added, {report.changed} changed, "
            f"{report.unchanged} unchanged, {report.missing} newly missing."
        )
        if report.drifted:
            self.stderr.write(
                f"Not as last set here: {counted(report.drifted, 'page')}. Decide in the admin."
            )
        for why in report.skipped_pages:
            self.stderr.write(f"Left out: {why}")
        if report.skipped > len(report.skipped_pages):
            self.stderr.write(f"Left out in all: {counted(report.skipped, 'listed page')}.")
        for slug in report.unfinished:
            self.stderr.write(
                f"Not confirmed by the service: {slug}. Create it again, or ignore it."
            )
        for currency, amount, slugs in pages_of_equal_price():
            price = format_amount(amount, currency, conf.exponents)
            more = f" and {len(slugs) - _NAMED} more" if len(slugs) > _NAMED else ""
            self.stderr.write(
                f"{len(slugs)} active pages cost {price}: {', '.join(slugs[:_NAMED])}{more}. "
                "The amount does not tell them apart."
            )
