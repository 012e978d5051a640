"""No page, command or configuration names a file of this repository that is not there."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ABOUT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in ABOUT), *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = [
    ROOT / name
    for name in (
        "Makefile", ".ci/run", "scripts/check", "scripts/group", "scripts/release", "pyproject.toml",
        "tests/reliability/test-databases",
    )
]  # fmt: skip
SOURCES = sorted({*(ROOT / "tests").rglob("*.py")} - {Path(__file__)})

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
PATH = re.compile(
    r"(?<![\w./~-])((?:tests|docs|scripts|payments_pages|example_project|\.ci)/[\w./-]*\w/?)"
)
STATIC = re.compile(r"\{% static '([^']+)' %\}")
EXTENDED = re.compile(r'\{% extends "([^"]+)" %\}')
MODULE = re.compile(r"python3? -m ((?:tests|payments_pages)[\w.]*\w)")


def missing(text: str) -> list[str]:
    """Return the paths and modules of ours that the text names and the repository has not."""
    text = STATIC.sub(r"payments_pages/static/\1", text)
    text = EXTENDED.sub(r"payments_pages/templates/\1", text)
    paths = [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    return paths + [name for name in MODULE.findall(text) if find_spec(name) is None]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_of_a_page_leads_to_a_file(page: Path) -> None:
    assert [
        link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()
    ] == []


@pytest.mark.parametrize("file", [*PAGES, *COMMANDS], ids=lambda file: file.name)
def test_each_path_that_is_named_is_there(file: Path) -> None:
    assert missing(file.read_text()) == []


def test_each_test_that_a_test_names_is_there() -> None:
    named = {file: re.findall(r"\btests/[\w/]+\.py\b", file.read_text()) for file in SOURCES}
    gone = {
        str(file.relative_to(ROOT)): paths
        for file, found in named.items()
        if (paths := [path for path in found if not (ROOT / path).exists()])
    }
    assert gone == {}


def test_a_path_that_is_gone_is_found() -> None:
    assert missing("See `tests/nowhere/test_nothing.py`, run `python -m tests.nowhere`.") == [
        "tests/nowhere/test_nothing.py",
        "tests.nowhere",
    ]
    assert LINK.findall("[here](../gone.md#part), [there](https://example.test/)") == ["../gone.md"]
