"""Tell staff what needs attention, by mail: run it by cron, every ten minutes or once a day."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError
from django.utils import translation

from payments_pages.conf import conf
from payments_pages.counts import counted
from payments_pages.exceptions import OtherSite
from payments_pages.management.digest_mail import digest_subject, digest_text
from payments_pages.staff import Attention, Matter, Telling, read_matters, tell_matters

__all__ = ["Command"]


class Command(BaseCommand):
    """The command: tells what is new since its last run, and is silent otherwise."""

    help = (
        "Mail what needs attention to the addresses in NOTIFY, or print it if there are none. "
        "Nothing is sent or printed unless something is new since the last run. Any number may run "
        "at once: one of them tells. "
        "Exit code 1: it could not be told; the next run tries again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add --print."""
        parser.add_argument(
            "--print",
            action="store_true",
            help="only print all that needs attention now, also what has been told already",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Tell it, in the site's language."""
        with translation.override(settings.LANGUAGE_CODE):
            try:
                if options["print"]:
                    self._print_all()
                else:
                    self._tell_news(options["verbosity"])
            except OtherSite as error:
                raise CommandError(str(error)) from error
            except (DatabaseError, InterfaceError) as error:
                name = type(error).__name__
                raise CommandError(f"The database could not be used: {name}.") from error

    def _print_all(self) -> None:
        matters, found = read_matters()
        self.stdout.write(digest_text(matters, found) if matters else "Nothing needs attention.")

    def _tell_news(self, verbosity: int) -> None:
        notify = conf.notify
        done = tell_matters(self._mail if notify else self._print)
        said = {
            Telling.TOLD: f"Sent to {counted(len(notify), 'address', 'addresses')}."
            if notify
            else "",
            Telling.NOTHING_NEW: "Nothing new needs attention.",
            Telling.OTHER_RUN: "Another run is telling it.",
        }
        # By cron, whatever is printed becomes a mail.
        if verbosity > 1 and said[done]:
            self.stdout.write(said[done])

    def _print(self, matters: list[Matter], found: Attention) -> None:
        self.stdout.write(digest_text(matters, found))

    def _mail(self, matters: list[Matter], found: Attention) -> None:
        mail = EmailMessage(
            digest_subject(),
            digest_text(matters, found),
            to=conf.notify,
            headers={"Auto-Submitted": "auto-generated"},
        )
        try:
            sent = mail.send()
        except Exception as error:  # each mail backend has errors of its own
            raise CommandError(f"The mail could not be sent: {type(error).__name__}.") from error
        if sent == 0:
            raise CommandError("The mail could not be sent: the mail backend sent nothing.")
