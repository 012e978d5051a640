"""Bind the tables to this site, after a move or in a copy that shall go on by itself."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from payments_pages.conf import conf
from payments_pages.confirmation import move_tables, read_binding
from payments_pages.exceptions import OtherSite

__all__ = ["Command"]


class Command(BaseCommand):
    """The command: binds the tables to the site of `SITE_URL`."""

    help = (
        "Bind the tables to this site's SITE_URL. Until then a site that has a copy of another "
        "site's database asks and delivers nothing. Stop the other site before: two sites that "
        "deliver from two copies give the same value twice."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add --yes."""
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Show the old and the new address, ask, and bind."""
        binding = read_binding()
        old = (
            "no site yet" if binding is None else f"{binding.url} since {binding.bound_at:%Y-%m-%d}"
        )
        self.stdout.write(f"Bound to: {old}\nSITE_URL: {conf.site_url or 'not set'}")
        if not options["yes"] and not self._is_sure():
            raise CommandError("Nothing was changed.")
        try:
            row = move_tables()
        except OtherSite as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Bound to {row.url}. Within 30 s the other site stops delivering from here."
        )

    def _is_sure(self) -> bool:
        try:
            return input("Bind the tables to this site? [y/N] ").strip().lower() in {"y", "yes"}
        except EOFError:
            return False
