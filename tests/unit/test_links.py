"""Every link between pages leads to a file and to a heading, on a code host and on the site.

`python -m tests.unit.test_links --write` makes links of the pages that a page names in backticks.
"""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted(DOCS.glob("*.md")),
]

FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NAMED = re.compile(r"(?<!\[)`docs/([\w-]+\.md)`(?!\]\()")
LINK = re.compile(r"\]\((?!\w+:)([^)\s]*)\)")


def prose(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return "".join(FENCED.split(page.read_text())[::2])


def anchors(page: Path) -> set[str]:
    """The anchors that a code host, and MyST as well, makes of a page's headings."""
    found: list[str] = []
    for heading in HEADING.findall(prose(page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        again = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", one) is not None for one in found)
        found.append(f"{slug}-{again}" if again else slug)
    return set(found)


def broken(page: Path, text: str) -> list[str]:
    """The links of a text on a page that lead nowhere."""
    bad = []
    for link in LINK.findall(text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        is_page = target.suffix == ".md" and target.exists()
        if not target.exists() or (anchor and is_page and anchor not in anchors(target)):
            bad.append(link)
    return bad


def title(page: Path) -> str:
    """The first heading of a page up to its colon, as a link shows it."""
    return HEADING.findall(prose(page))[0].replace("`", "").partition(": ")[0]


def link_named_pages(page: Path) -> str:
    """The text of a page in which the pages that it names are links."""
    parts = FENCED.split(page.read_text())
    for number in range(0, len(parts), 2):
        parts[number] = NAMED.sub(
            lambda found: f"[{title(DOCS / found[1])}]({found[1]})", parts[number]
        )
    return "".join(parts)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_and_picture_of_a_page_is_there(page: Path) -> None:
    assert broken(page, prose(page)) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    page = DOCS / "doctor.md"
    text = "[a](#the-webhook) [b](#gone) [c](cards.md#charge-a-card) [d](cards.md#gone) ![e](f.png)"
    assert broken(page, f"{text} [g](https://example.test/#h)") == [
        "#gone",
        "cards.md#gone",
        "f.png",
    ]


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_a_page_of_the_site_that_another_names_is_a_link(page: Path) -> None:
    assert NAMED.findall(prose(page)) == []


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    for written in sorted(DOCS.glob("*.md")):
        written.write_text(link_named_pages(written))
