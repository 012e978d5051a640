"""Take references through the path by hand."""

import datetime as dt
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.databases import renew_connections
from payments_pages.exceptions import InvalidReference
from payments_pages.management.progress import Progress
from payments_pages.waiting import waiting_references

__all__ = ["Command"]

_GIVEN = frozenset({Outcome.DELIVERED, Outcome.ALREADY_DELIVERED})


class Command(BaseCommand):
    """Confirm references: named, read from a file, or all that wait."""

    help = (
        "Ask the service about references and deliver what is paid. Give references, a --file of "
        "them (one a line; '-' is standard input), or --pending for all that this site is still "
        "asking about. Exit code 1: at least one is not delivered."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add where the references come from."""
        parser.add_argument("references", nargs="*", metavar="REFERENCE")
        parser.add_argument("--file", metavar="FILE", help="read references, one a line")
        parser.add_argument("--pending", action="store_true", help="all that are still asked about")
        parser.add_argument("--since", metavar="TIME", help="of --pending: first seen since then")
        parser.add_argument(
            "--refresh", action="store_true", help="ask the service about settled ones too"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Confirm each; print a line for each that is not delivered, and one summary line."""
        named = list(dict.fromkeys([*options["references"], *_read(options["file"])]))
        if options["since"] and not options["pending"]:
            raise CommandError("--since goes with --pending.")
        if not named and not options["pending"] and not options["file"]:
            raise CommandError("Give references, --file or --pending.")
        references: Iterable[str] = named
        if options["pending"]:
            since = _moment(options["since"])
            references = dict.fromkeys([*named, *waiting_references(since=since)])
        counts = self._confirm_all(list(references), refresh=options["refresh"])
        given = sum(counts[outcome] for outcome in _GIVEN)
        parts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        summary = f"{given} of {counts.total()} delivered" + (f": {parts}." if parts else ".")
        if given < counts.total():
            raise CommandError(summary)
        self.stdout.write(summary)

    def _confirm_all(self, references: list[str], *, refresh: bool) -> Counter[str]:
        line = Progress(self.stdout)
        counts: Counter[str] = Counter()
        for number, reference in enumerate(references, 1):
            line.show(f"{number} of {len(references)} …")
            renew_connections()
            outcome = _confirm(reference, refresh=refresh)
            counts[outcome] += 1
            if outcome not in _GIVEN:
                line.clear()
                self.stdout.write(f"{reference}: {outcome}")
        line.clear()
        return counts


def _confirm(reference: str, *, refresh: bool) -> str:
    try:
        found = confirm_payment(
            reference, door=Door.COMMAND, refresh=refresh, vouched=True, deliver_now=True
        )
    except InvalidReference:
        return "invalid"
    return str(found.outcome)


def _read(name: str | None) -> Iterator[str]:
    """Yield the references of a file: one a line, blank lines left out."""
    if name is None:
        return
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} cannot be read: {error}") from error
    yield from (line.strip() for line in text.splitlines() if line.strip())


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
