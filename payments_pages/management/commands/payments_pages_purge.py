"""Delete old data: run it by cron, once a day or a week."""

import datetime as dt
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from payments_pages.management.progress import Progress
from payments_pages.staff import (
    SHORTEST,
    forget_old_cards,
    forget_payers,
    purge_events,
    purge_lapsed,
)

__all__ = ["Command"]

WORK: dict[str, tuple[tuple[Callable[..., int], str], ...]] = {
    "events": ((purge_events, "events"),),
    "lapsed": ((purge_lapsed, "references given up"),),
    "payers": ((forget_payers, "payers forgotten"), (forget_old_cards, "saved cards")),
}
"""For each kind of data its functions, and what they count."""


class Command(BaseCommand):
    """The command: purges only the kinds of data that its options name."""

    help = (
        "Delete old events, references given up and saved cards that nobody has paid with for so "
        "long, and blank payers' data of old payments. "
        "Nothing is deleted that keeps a payment from being delivered twice. Without options "
        "nothing is done. May be stopped at any time and run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add one age for each kind."""
        texts = {
            "events": "delete lines of the timeline of that age",
            "lapsed": "delete references of that age that were given up without a transaction",
            "payers": "blank payers' data in payments of that age that are done with, and delete "
            "saved cards that were last paid with before",
        }
        for kind, text in texts.items():
            parser.add_argument(
                f"--{kind}-older-than",
                type=_days,
                metavar="DAYS",
                help=f"{text}, such as 400d; at least {SHORTEST.days}d",
            )
        parser.add_argument("--dry-run", action="store_true", help="only count")
        parser.add_argument(
            "--batch", type=int, default=1000, help="rows in one transaction (default: 1000)"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do one kind after the other; print one line."""
        if options["batch"] < 1:
            raise CommandError("--batch must be above zero.")
        ages = {kind: options[f"{kind}_older_than"] for kind in WORK}
        if not any(ages.values()):
            self.stdout.write("Nothing was purged: say what, for example --events-older-than 400d.")
            return
        line = Progress(self.stdout)
        parts = []
        chosen = [(age, *one) for kind, age in ages.items() if age for one in WORK[kind]]
        for age, purge, name in chosen:
            count = purge(
                age,
                batch=options["batch"],
                dry_run=options["dry_run"],
                progress=lambda done, name=name: line.show(f"{done} {name} …"),
            )
            parts.append(f"{count} {name}")
        line.clear()
        verb = "Would purge" if options["dry_run"] else "Purged"
        self.stdout.write(f"{verb}: {', '.join(parts)}.")


def _days(text: str) -> dt.timedelta:
    """Read an age such as 400d."""
    found = re.fullmatch(r"(\d{1,5})d", text, re.ASCII)
    if found is None:
        raise ArgumentTypeError(f"{text}: write days, such as 400d.")
    age = dt.timedelta(days=int(found[1]))
    if age < SHORTEST:
        raise ArgumentTypeError(f"{text}: at least {SHORTEST.days}d are kept.")
    return age
