"""Parts of the site that are kept at the root of the repository: README.md and CHANGELOG.md.

They are written for a code host: links there begin with `docs/`, and headings fit the whole file.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PART = re.compile(r"^## Quick start\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
"""What the page `quick-start` shows of README.md: up to the next heading of that level."""

HEADING = re.compile(r"^#(#+ )", re.MULTILINE)
FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`docs/([\w-]+\.md)`")
LINK = re.compile(r"(\]\()docs/")


def rewrite(text: str, *, raise_headings: bool) -> str:
    """Make links of the site of the names and addresses of pages; leave what is fenced."""
    parts = FENCED.split(text)
    for number in range(0, len(parts), 2):
        part = LINK.sub(r"\1", NAMED.sub(r"[](\1)", parts[number]))
        parts[number] = HEADING.sub(r"\1", part) if raise_headings else part
    return "".join(parts)


def take_in(app: Sphinx, path: Path, docname: str, source: list[str]) -> None:
    """Cut and rewrite what an `include` of a page reads."""
    if path.name == "README.md":
        found = PART.search(source[0])
        if found is None:
            raise LookupError("README.md has no heading that PART of included_pages names.")
        source[0] = rewrite(found[1], raise_headings=True)
    elif path.name == "CHANGELOG.md":
        # Its first line is the page's own heading.
        source[0] = rewrite(source[0].partition("\n")[2], raise_headings=False)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("include-read", take_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
