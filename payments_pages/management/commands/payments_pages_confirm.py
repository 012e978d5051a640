"""Confirm references by hand."""

import datetime as dt
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from payments_pages import staff
from payments_pages.choices import Door, Outcome, Reason
from payments_pages.confirmation import confirm_payment, waiting_references
from payments_pages.db import is_transient, renew_connections
from payments_pages.exceptions import InvalidReference, UnusableKey
from payments_pages.management.progress import Progress
from payments_pages.management.reference_files import ReferenceFile, read_references
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.pages import slug_key
from payments_pages.references import reference_key

__all__ = ["Command"]

NAME = "payments_pages_confirm"
"""The actor in the timeline when `--page` names the page."""

_GIVEN = frozenset({Outcome.DELIVERED, Outcome.ALREADY_DELIVERED})


class Command(BaseCommand):
    """The command: confirms references that are named, read from a file, or waiting."""

    help = (
        "Ask the service about references and deliver what is paid. Give references, a --file of "
        "them (one a line, or with --column a table such as the service exports; '-' is standard "
        "input), or --pending for all that this site is still asking about. Exit code 1: at least "
        "one is not delivered."
    )

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
        """Confirm each; print a line for each that is not delivered, and one summary line."""
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
        references = dict.fromkeys(options["references"]) | file.references
        if options["pending"]:
            since = _moment(options["since"])
            references |= dict.fromkeys(waiting_references(since=since))
        for row in file.unreadable:
            self.stdout.write(f"{row}: unreadable")
        counts = self._confirm_all(list(references), refresh=options["refresh"], page=page)
        counts["unreadable"] += len(file.unreadable)
        self._sum_up(+counts, file.left_out)

    def _sum_up(self, counts: Counter[str], left_out: Counter[str]) -> None:
        given = sum(counts[outcome] for outcome in _GIVEN)
        parts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        summary = f"{given} of {counts.total()} delivered" + (f": {parts}." if parts else ".")
        if left_out:
            parts = ", ".join(f"{count} {why}" for why, count in sorted(left_out.items()))
            summary += f" Left out of the file: {parts}."
        if given < counts.total():
            raise CommandError(summary)
        self.stdout.write(summary)

    def _confirm_all(
        self, references: list[str], *, refresh: bool, page: PaymentPage | None
    ) -> Counter[str]:
        line = Progress(self.stdout)
        counts: Counter[str] = Counter()
        for number, reference in enumerate(references, 1):
            line.show(f"{number} of {len(references)} …")
            renew_connections()
            outcome, reason = _confirm(reference, refresh=refresh, page=page)
            counts[outcome] += 1
            if outcome not in _GIVEN:
                line.clear()
                self.stdout.write(": ".join(filter(None, (reference, outcome, reason))))
        line.clear()
        return counts


def _confirm(reference: str, *, refresh: bool, page: PaymentPage | None) -> tuple[str, str]:
    """Return the outcome, and the reason if the payment is held although `--page` names a page."""
    try:
        outcome = confirm_payment(
            reference, door=Door.COMMAND, refresh=refresh, vouched=True, deliver_now=True
        ).outcome
    except InvalidReference:
        return "invalid", ""
    if outcome is not Outcome.HELD or page is None:
        return str(outcome), ""
    try:
        row = _row(reference)
        if row.reason == Reason.UNATTRIBUTED:
            attributed = staff.attribute(row.transaction, page=page, actor=NAME, door=Door.COMMAND)
            outcome = attributed or outcome
            row = _row(reference)
    except (DatabaseError, InterfaceError) as error:
        if not is_transient(error):
            raise
        return str(Outcome.UNAVAILABLE), ""
    return str(outcome), str(row.reason) if outcome is Outcome.HELD else ""


def _row(reference: str) -> Fulfilment:
    rows = Fulfilment.objects.primary().select_related("transaction")
    return rows.get(reference_key=reference_key(reference))


def _page(slug: str) -> PaymentPage:
    try:
        page = PaymentPage.objects.primary().filter(slug_key=slug_key(slug)).first()
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
