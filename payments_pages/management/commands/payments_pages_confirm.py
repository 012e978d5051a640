"""Take references through the path by hand."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.exceptions import InvalidReference
from payments_pages.management.progress import Progress

__all__ = ["Command"]

_GIVEN = frozenset({Outcome.DELIVERED, Outcome.ALREADY_DELIVERED})


class Command(BaseCommand):
    """Confirm references that are named on the command line."""

    help = (
        "Ask the service about references and deliver what is paid. Exit code 1: at least one "
        "is not delivered."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the references."""
        parser.add_argument("references", nargs="+", metavar="REFERENCE")
        parser.add_argument(
            "--refresh", action="store_true", help="ask the service about settled ones too"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Confirm each; print a line each and a summary."""
        line = Progress(self.stdout)
        references = list(dict.fromkeys(options["references"]))
        given = 0
        for number, reference in enumerate(references, 1):
            line.show(f"{number} of {len(references)} …")
            outcome = self._confirm(reference, refresh=options["refresh"])
            line.clear()
            self.stdout.write(f"{reference}: {outcome}")
            given += outcome in _GIVEN
        summary = f"{given} of {len(references)} delivered."
        if given < len(references):
            raise CommandError(summary)
        self.stdout.write(summary)

    def _confirm(self, reference: str, *, refresh: bool) -> str:
        try:
            found = confirm_payment(reference, door=Door.COMMAND, refresh=refresh, vouched=True)
        except InvalidReference as error:
            return f"invalid: {error}"
        return found.outcome
