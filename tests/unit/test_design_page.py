"""The picture of the rooms in `docs/design.md` is the one that the imports draw.

`python -m tests.unit.test_design_page --write` writes it anew.
"""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from payments_pages.choices import FulfilmentState, VerificationState
from tests.unit.test_rooms import (
    DOORS,
    MODULES,
    ORDER,
    PACKAGE,
    ROOT,
    WORDS,
    imports_of,
    lines_of_code,
    room_of,
)

PAGE = ROOT / "docs" / "design.md"
API = ROOT / "docs" / "api.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
BLOCK = re.compile(r"(<!-- rooms -->\n).*(<!-- /rooms -->)", re.DOTALL)
WITHOUT_DOCSTRING = {
    "locale": "Translations.",
    "migrations": "Migrations.",
    "static": "Styles and scripts of the payers' pages and the admin.",
    "templates": "Templates of the payers' pages and the admin.",
    "py.typed": "Says that the package is annotated.",
}


def group_of(module: str) -> str:
    """The box of the picture that a module stands in."""
    room = room_of(module)
    if room in WORDS:
        return "words"
    if room in DOORS:
        return "doors"
    return "wiring" if room in ORDER[-1] else room


def arrows() -> set[tuple[str, str]]:
    """Which box imports from which, the words aside: everything may import them."""
    found = set()
    for module, (path, source) in MODULES.items():
        for name, _taken in imports_of(module, source, is_package=path.stem == "__init__"):
            if name.split(".")[0] == PACKAGE:
                found.add((group_of(module), group_of(name)))
    return {(here, there) for here, there in found if here != there and there != "words"}


def first_sentence(path: Path) -> str:
    """What a module or room says of itself, on one line."""
    file = path / "__init__.py" if path.is_dir() else path
    source = file.read_text() if file.suffix == ".py" and file.exists() else ""
    told = ast.get_docstring(ast.parse(source)) or WITHOUT_DOCSTRING[path.name]
    return " ".join(told.split("\n\n")[0].split())


def tree() -> list[str]:
    """The package one level deep, folders first."""
    paths = [path for path in (ROOT / PACKAGE).iterdir() if path.name != "__pycache__"]
    paths.sort(key=lambda path: (path.is_file(), path.name))
    return [
        f"| `{path.name}{'/' if path.is_dir() else ''}` | {first_sentence(path)} |"
        for path in paths
    ]


def figures() -> list[str]:
    """Files and hundreds of lines of code in each box; less is not worth a new page."""
    files, lines = Counter[str](), Counter[str]()
    for module, (_path, source) in MODULES.items():
        files[group_of(module)] += 1
        lines[group_of(module)] += len(lines_of_code(source))
    return [f"| {name} | {files[name]} | {round(lines[name], -2)} |" for name in sorted(files)]


def drawn() -> str:
    """The whole block of the page."""
    at_root = len(list((ROOT / PACKAGE).glob("*.py")))
    names = API.read_text().split("\n## Names to import\n")[1].split("\n## ")[0]
    public = len(re.findall(r"^- `", names, re.MULTILINE))
    return "\n".join([
        'An arrow means "imports". The words, which everything imports, are left out.',
        "",
        "```mermaid",
        "graph LR",
        *(f"  {here} --> {there}" for here, there in sorted(arrows())),
        "```",
        "",
        "| box | files | lines of code, to the nearest hundred |",
        "|---|---|---|",
        *figures(),
        "",
        f"{at_root} modules stand at the root; {public} names are public.",
        "",
        "| in `payments_pages/` | |",
        "|---|---|",
        *tree(),
        "",
    ])  # fmt: skip


def test_the_picture_is_the_one_that_the_imports_draw() -> None:
    found = BLOCK.search(PAGE.read_text())
    assert found is not None
    assert found[0] == f"<!-- rooms -->\n{drawn()}<!-- /rooms -->"


@pytest.mark.parametrize("page", [PAGE, CONTRIBUTING], ids=lambda page: page.name)
def test_every_path_that_a_table_names_exists(page: Path) -> None:
    rows = [line for line in page.read_text().splitlines() if line.startswith("|")]
    paths = {path for row in rows for path in re.findall(r"`([\w./-]+/[\w./-]*)`", row)}
    assert paths
    places = (ROOT, ROOT / PACKAGE)
    assert {path for path in paths if not any((at / path).exists() for at in places)} == set()


def test_every_undocumented_name_of_django_is_in_the_file_that_the_page_names() -> None:
    table = PAGE.read_text().split("## Parts of Django that are not documented")[1]
    rows = re.findall(r"^\| (`.+`) \| `(.+?)` \|", table, re.MULTILINE)
    assert rows
    gone = [
        (name, file)
        for names, file in rows
        for name in re.findall(r"`(\w+)`", names)
        if name not in (ROOT / PACKAGE / file).read_text()
    ]
    assert gone == []


@pytest.mark.parametrize("states", [FulfilmentState, VerificationState])
def test_every_state_has_its_line(
    states: type[FulfilmentState] | type[VerificationState],
) -> None:
    told = PAGE.read_text().split(f"A `{states.__name__.removesuffix('State')}` says")[1]
    table = told.split("\n\n")[1]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == states.values


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    PAGE.write_text(BLOCK.sub(lambda match: f"{match[1]}{drawn()}{match[2]}", PAGE.read_text()))
