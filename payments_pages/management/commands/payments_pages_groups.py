"""Create the groups of staff."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from payments_pages.exceptions import ConfigurationError
from payments_pages.staff import Granted, make_groups

__all__ = ["Command"]


class Command(BaseCommand):
    """The command: creates or completes the groups viewer, operator and manager."""

    help = (
        "Make or complete three groups of staff: viewer, operator and manager. What a group has "
        "besides stays, unless --exact."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add --prefix and --exact."""
        parser.add_argument(
            "--prefix", default="Payments: ", help='before each name (default: "Payments: ")'
        )
        parser.add_argument(
            "--exact",
            action="store_true",
            help="remove other permissions of this app from the groups",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Make them; print a line for each."""
        try:
            granted = make_groups(prefix=options["prefix"], exact=options["exact"])
        except ConfigurationError as error:
            raise CommandError(str(error)) from error
        for one in granted:
            self.stdout.write(_line(one))


def _line(one: Granted) -> str:
    done = [f"added {', '.join(one.added)}"] if one.added else []
    done += [f"removed {', '.join(one.removed)}"] if one.removed else []
    return f"{one.group} ({'new' if one.is_new else 'kept'}): {'; '.join(done) or 'unchanged'}."
