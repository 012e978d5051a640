"""Confirm references by hand."""

import datetime as dt
import json
import sys
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError
from django.utils import timezone, translation
from django.utils.dateparse import parse_date, parse_datetime

from payments_pages import staff
from payments_pages.choices import Door, Outcome, Reason
from payments_pages.confirmation import confirm_payment, waiting_references
from payments_pages.db import is_transient, renew_connections
from payments_pages.exceptions import InvalidReference, UnusableKey
from payments_pages.management.progress import Progress
from payments_pages.management.reference_files import ReferenceFile, read_references
from payments_pages.marks import clean_pasted
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.pages import slug_key
from payments_pages.references import reference_key

__all__ = ["Command"]

NAME = "payments_pages_confirm"
"""The actor in the timeline when `--page` names the page."""


class Command(BaseCommand):
    """The command: confirms references that are named, read from a file, or waiting."""

    help = (
        "Ask the service about references and deliver what is paid. Give references, a --file of "
        "them (one a line, or with --column a table such as the service exports; '-' is standard "
        "input), or --pending for all that this site is still asking about. Exit code 1: at least "
        "one is not delivered."
    )

    _in_shell = False

    def run_from_argv(self, argv: list[str]) -> None:
        """Run for a terminal or cron, where "not delivered" is an answer and no error.

        Code that calls the command gets a `CommandError` instead: `SystemExit` would end a worker.
        """
        self._in_shell = True
        super().run_from_argv(argv)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add where the references come from."""
        parser.add_argument("references", nargs="*", metavar="REFERENCE")
        parser.add_argument("--file", metavar="FILE", help="read references, one a line")
        parser.add_argument(
            "--column", metavar="NAME", help="of --file: the column of a CSV that holds them"
        )
        parser.add_argument(
            "--page",
            metavar="SLUG",
            help="the page that they pay for, if nothing else names it; the rules still decide",
        )
        parser.add_argument(
            "--pending",
            action="store_true",
            help="all references that the service is still asked about",
        )
        parser.add_argument("--since", metavar="TIME", help="of --pending: first seen since then")
        parser.add_argument(
            "--refresh", action="store_true", help="ask the service also about settled references"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Confirm each; print a line for each, and a summary."""
        if options["since"] and not options["pending"]:
            raise CommandError("--since needs --pending.")
        if options["column"] and not options["file"]:
            raise CommandError("--column needs --file.")
        if not options["references"] and not options["pending"] and not options["file"]:
            raise CommandError("Give references, --file or --pending.")
        page = _page(options["page"]) if options["page"] else None
        file = ReferenceFile()
        if options["file"]:
            file = read_references(options["file"], options["column"])
        references = dict.fromkeys(map(clean_pasted, options["references"])) | file.references
        if options["pending"]:
            since = _moment(options["since"])
            references |= dict.fromkeys(waiting_references(since=since))
        for row in file.unreadable:
            self.stdout.write(f"{row}: {_UNREADABLE}")
        counts = self._confirm_all(list(references), refresh=options["refresh"], page=page)
        counts[_UNREADABLE] += len(file.unreadable)
        self._sum_up(+counts, file.left_out)

    def _sum_up(self, counts: Counter[str], left_out: Counter[str]) -> None:
        given = sum(counts[_words(outcome)] for outcome in Outcome.given())
        summary = f"{given} of {counts.total()} delivered"
        if counts.total() > 1:
            lines = [f"  {count} {words}" for words, count in sorted(counts.items())]
            summary = "\n".join((f"{summary}:", *lines))
        else:
            summary += "."
        if left_out:
            parts = ", ".join(f"{count} {why}" for why, count in sorted(left_out.items()))
            summary += f"\nLeft out of the file: {parts}."
        self.stdout.write(summary)
        if given < counts.total():
            if self._in_shell:
                sys.exit(1)
            raise CommandError(summary)

    def _confirm_all(
        self, references: list[str], *, refresh: bool, page: PaymentPage | None
    ) -> Counter[str]:
        line = Progress(self.stdout)
        counts: Counter[str] = Counter()
        for number, reference in enumerate(references, 1):
            line.show(f"{number} of {len(references)} …")
            renew_connections()
            outcome, reason = _confirm(reference, refresh=refresh, page=page)
            words = _words(outcome)
            counts[words] += 1
            line.clear()
            self.stdout.write(": ".join(filter(None, (_shown(reference), words, _words(reason)))))
        return counts


_UNREADABLE = "unreadable"


def _shown(reference: str) -> str:
    """Return a reference for the terminal: one that does not print is written with escapes.

    Bytes that are not UTF-8 stop the output, and control characters move the cursor.
    """
    return reference if reference and reference.isprintable() else json.dumps(reference)


def _words(choice: Outcome | Reason | None) -> str:
    """Return the words for an outcome or a reason, in English like all that the commands print."""
    if choice is Reason.NONE:
        return ""
    if choice is None:
        return "no valid reference"
    with translation.override(None):
        return str(choice.label)


def _confirm(
    reference: str, *, refresh: bool, page: PaymentPage | None
) -> tuple[Outcome | None, Reason]:
    """Return the outcome, and why the payment is held if it is; None for no valid reference."""
    try:
        found = confirm_payment(
            reference, door=Door.COMMAND, refresh=refresh, vouched=True, deliver_now=True
        )
    except InvalidReference:
        return None, Reason.NONE
    outcome, row = found.outcome, found.fulfilment
    if outcome is not Outcome.HELD or row is None:
        return outcome, Reason.NONE
    try:
        if page is not None and row.reason == Reason.UNATTRIBUTED:
            attributed = staff.attribute(row.transaction, page=page, actor=NAME, door=Door.COMMAND)
            outcome = attributed or outcome
            row = _row(reference)
    except (DatabaseError, InterfaceError) as error:
        if not is_transient(error):
            raise
        return Outcome.UNAVAILABLE, Reason.NONE
    return outcome, Reason(row.reason) if outcome is Outcome.HELD else Reason.NONE


def _row(reference: str) -> Fulfilment:
    rows = Fulfilment.objects.primary().select_related("transaction")
    return rows.get(reference_key=reference_key(reference))


def _page(slug: str) -> PaymentPage:
    try:
        page = PaymentPage.objects.primary().filter(slug_key=slug_key(clean_pasted(slug))).first()
    except UnusableKey as error:
        raise CommandError(str(error)) from error
    if page is None:
        raise CommandError(
            f"There is no page {slug!r} here. Run payments_pages_sync, or check the slug."
        )
    return page


def _moment(text: str | None) -> dt.datetime | None:
    """Read a date or a date and time; without a zone it is this site's own."""
    if text is None:
        return None
    try:
        moment = parse_datetime(text)
        day = parse_date(text)
    except ValueError:
        moment = day = None
    if moment is None and day is not None:
        moment = dt.datetime.combine(day, dt.time())
    if moment is None:
        raise CommandError(f"--since {text}: write 2026-11-27 or 2026-11-27T21:00.")
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)
