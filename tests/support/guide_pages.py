"""Read the pages of `docs/`: their snippets, tables and console lines."""

import importlib
import re
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from django.core.management import get_commands, load_command_class

from tests.support.snippets import ROOT, blocks, page_text, run_snippet, snippet

__all__ = ["ROOT", "GuidePage", "parse_command", "shop_in"]

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


class GuidePage:
    """A page of `docs/`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = page_text(name)

    def snippet(self, name: str, kind: str = "python") -> str:
        """The text of a named snippet."""
        return snippet(self.name, name, kind)

    def names(self, kind: str = "python") -> list[str]:
        """The names of all snippets of a language, in the page's order."""
        return [name for name in blocks(self.text, kind) if name is not None]

    def blocks(self, kind: str) -> list[str]:
        """The texts of all fenced blocks of a language, named or not."""
        return [text for lang, text in _FENCE.findall(self.text) if lang == kind]

    def run(self, name: str, **given: Any) -> dict[str, Any]:
        """Run a python snippet and return what it defines."""
        return run_snippet(self.name, name, **given)

    def section(self, heading: str) -> str:
        """The text below a heading, up to the next one of its rank."""
        rank = heading.split(" ", maxsplit=1)[0]
        rest = self.text.split(f"\n{heading}\n", 1)
        assert len(rest) == 2, f"{self.name} has no heading {heading!r}"
        return re.split(rf"^#{{1,{len(rank)}}} ", rest[1], maxsplit=1, flags=re.MULTILINE)[0]

    def rows(self, heading: str) -> list[list[str]]:
        """The cells of the first table below a heading, without its head."""
        lines = re.search(r"(?:^\|.*\n?)+", self.section(heading), re.MULTILINE)
        assert lines, f"{self.name} has no table below {heading!r}"
        table = [line.strip("|").split("|") for line in lines[0].splitlines()]
        return [[cell.strip() for cell in row] for row in table[2:]]

    def manage_lines(self) -> Iterator[list[str]]:
        """The words after `manage.py` of each line of a block that calls it, comments left out."""
        for _kind, text in _FENCE.findall(self.text):
            for line in text.splitlines():
                if "manage.py " in line and not line.lstrip().startswith("#"):
                    yield shlex.split(line.split("manage.py ", 1)[1].split(" || ")[0])


def parse_command(words: list[str]) -> dict[str, Any]:
    """Parse a command line as `manage.py` does; return its options."""
    name, *arguments = words
    assert name in get_commands(), f"there is no command {name}"
    parser: ArgumentParser = load_command_class(get_commands()[name], name).create_parser(
        "manage.py", name
    )
    return vars(parser.parse_args(arguments))


@contextmanager
def shop_in(folder: Path, kept: dict[str, ModuleType] | None = None) -> Iterator[None]:
    """Let `import shop` find the package in that folder; afterwards nothing of it is imported.

    `kept`: modules of an earlier time, which are there again; those of this time are added.
    """
    (folder / "shop").mkdir(exist_ok=True)
    (folder / "shop" / "__init__.py").touch()
    _forget_shop()
    sys.modules.update(kept or {})
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        forgotten = _forget_shop()
        if kept is not None:
            kept.update(forgotten)


def _forget_shop() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.split(".")[0] == "shop"]
    return {name: sys.modules.pop(name) for name in names}
