"""The blocks of code in README.md and on the pages of docs/, by their names.

A block has the line `<!-- snippet: NAME -->` above it. `tests/acceptance/test_snippets.py` has the
list of all blocks of Python, each with the test that runs it.
"""

import re
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "blocks", "page_text", "pages", "run_snippet", "snippet"]

ROOT = Path(__file__).resolve().parent.parent.parent

BLOCK = re.compile(
    r"(?:^<!-- snippet: (\S+) -->\n)?^[ >]*(`{3,}|~{3,}) *(\w*)[^\n]*\n", re.MULTILINE
)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def page_text(page: str) -> str:
    """Return the text of a page by its file name; README.md is the one that is not in docs/."""
    return (ROOT / page if page == "README.md" else ROOT / "docs" / page).read_text()


def blocks(text: str, kind: str = "python") -> list[str | None]:
    """List the names of a page's blocks of a language; None for one without a name."""
    found, end = [], 0
    for opening in BLOCK.finditer(text):
        if opening.start() < end:
            continue  # a line inside of a block
        name, fence, language = opening.groups()
        closing = re.compile(rf"^[ >]*{re.escape(fence)}\s*$", re.MULTILINE)
        ending = closing.search(text, opening.end())
        end = ending.end() if ending else len(text)
        if language == kind:
            found.append(name)
    return found


def snippet(page: str, name: str, kind: str = "python") -> str:
    """Return the code of a named block."""
    (code,) = re.findall(
        rf"^<!-- snippet: {re.escape(name)} -->\n```{kind}\n(.*?)^```$",
        page_text(page),
        re.DOTALL | re.MULTILINE,
    ) or [None]
    assert code is not None, f"{page} has no snippet {name}"
    return str(code)


def run_snippet(page: str, name: str, **given: Any) -> dict[str, Any]:
    """Run a named block of Python, with these names defined, and return all that are then."""
    names: dict[str, Any] = {"__name__": f"snippet of {page}", **given}
    exec(compile(snippet(page, name), f"{page}: {name}", "exec"), names)
    return names
