"""Examine this site and its account at the service, without money and without a change."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from payments_pages.doctor import LINES, Finding, Health, examine
from payments_pages.management.progress import Progress

__all__ = ["Command"]

_WIDTH: Final = max(map(len, LINES))
_WORDS: Final = {Health.WRONG: "WRONG"}
"""What stands out among the lines that are right."""


class Command(BaseCommand):
    """The command: prints a line for each thing that was looked at."""

    help = (
        "Look at the key, the addresses, pages, clocks, database, cache, sweep, handler, callback "
        "and webhook of this site, and say what is right, or what to do. Nothing is changed, here "
        "or at the service. Run it as the site itself is run: same user and environment. "
        "Exit code 1: something is wrong."
    )
    # The line "settings" tells what they find, and the other lines are told as well.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add --json."""
        parser.add_argument(
            "--json",
            action="store_true",
            help='print one object: {"healthy": …, "lines": [{"name", "health", "seen", "advice"}]}',
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Look, and print; raise `CommandError` if something is wrong."""
        found: dict[str, Finding] = {}
        if options["json"]:
            found = dict(examine())
            self.stdout.write(_as_json(found))
        else:
            line = Progress(self.stdout)
            for name, finding in examine(progress=lambda name: line.show(f"{name} …")):
                line.clear()
                self.stdout.write(_as_text(name, finding))
                found[name] = finding
        faults = [name for name, finding in found.items() if finding.health is Health.WRONG]
        if faults:
            raise CommandError(f"Wrong: {', '.join(faults)}.")


def _as_text(name: str, finding: Finding) -> str:
    word = _WORDS.get(finding.health, finding.health.value)
    text = f"{word:<8} {name:<{_WIDTH}}  {finding.seen}"
    return f"{text}\n{'':<8} {'':<{_WIDTH}}  → {finding.advice}" if finding.advice else text


def _as_json(found: dict[str, Finding]) -> str:
    lines = [{"name": name, **asdict(finding)} for name, finding in found.items()]
    healthy = all(finding.health is not Health.WRONG for finding in found.values())
    return json.dumps({"healthy": healthy, "lines": lines}, indent=2, ensure_ascii=False)
