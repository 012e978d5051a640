"""Every case that code or a test names has its row in `docs/cases.md`, with tests that exist."""

import re

from tests.unit.test_rooms import ROOT

ROWS = dict(
    re.findall(
        r"^\| ([CDFS]\d\d) \| .+ \| (.+) \|$", (ROOT / "docs" / "cases.md").read_text(), re.M
    )
)
NUMBER = re.compile(r"\b[CDFS]\d\d\b|(?<=_)[cdfs]\d\d(?=_)")


def test_every_number_that_is_named_has_a_row() -> None:
    named = {
        number.upper()
        for folder in ("payments_pages", "tests")
        for path in (ROOT / folder).rglob("*.py")
        for number in NUMBER.findall(path.read_text())
    }
    assert named - set(ROWS) == set()


def test_every_test_that_a_row_names_exists() -> None:
    sources = [(path.name, path.read_text()) for path in (ROOT / "tests").rglob("*.py")]
    gone = [
        (number, name)
        for number, cell in ROWS.items()
        for name in re.findall(r"`(.+?)`", cell) or ["no test"]
        if not _exists(name, sources)
    ]
    assert gone == []


def _exists(name: str, sources: list[tuple[str, str]]) -> bool:
    file, _, function = name.partition("::")
    return any(
        stem == file and (not function or f"def {function}(" in source) for stem, source in sources
    )
