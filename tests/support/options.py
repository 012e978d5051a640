"""The options of our commands, as docs/commands.md lists them; run it to write them there."""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import django
from django.core.management import load_command_class
from django.core.management.base import BaseCommand, CommandParser

__all__ = ["PAGE", "command_names", "written"]

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "commands.md"
BLOCK = re.compile(r"(<!-- options -->\n).*(<!-- /options -->)", re.DOTALL)


def command_names() -> list[str]:
    """Return the names of all commands of the app."""
    folder = ROOT / "payments_pages" / "management" / "commands"
    return sorted(path.stem for path in folder.glob("payments_pages_*.py"))


def written(page: str) -> str:
    """Return the page with the options of today."""
    rows = (f"| `{name}` | {' · '.join(_options(name)) or 'none'} |" for name in command_names())
    table = "\n".join(["| command | arguments and options |", "|---|---|", *rows])
    return BLOCK.sub(lambda found: f"{found[1]}{table}\n{found[2]}", page)


def _options(name: str) -> Iterator[str]:
    parser = load_command_class("payments_pages", name).create_parser("manage.py", name)
    for action in parser._actions:
        if not _DJANGOS & {*action.option_strings, action.dest}:
            yield f"`{_spelled(action)}`"


def _spelled(action: argparse.Action) -> str:
    value = action.metavar or action.dest.upper()
    if not action.option_strings:
        return f"{value}…" if action.nargs in {"*", "+"} else str(value)
    longest = max(action.option_strings, key=len)
    return longest if action.nargs == 0 else f"{longest} {value}"


def _djangos() -> set[str]:
    parser = BaseCommand().create_parser("manage.py", "any")
    assert isinstance(parser, CommandParser)
    return {text for action in parser._actions for text in (*action.option_strings, action.dest)}


_DJANGOS = _djangos()

if __name__ == "__main__":
    django.setup()
    PAGE.write_text(written(PAGE.read_text()))
    sys.exit(0)
