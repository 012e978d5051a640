"""Every version of Python and Django that the package claims is one that the gate runs."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent.parent
CONFIGURATION: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT: dict[str, Any] = CONFIGURATION["project"]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# What comes after this line is only run when it is asked for.
LONG = 'if [ "${CI_LONG:-}" = 1 ]; then'

Version = tuple[int, int]


def version(text: str) -> Version:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def claimed(what: str) -> list[Version]:
    """Return the versions in the classifiers, as they are listed."""
    found = [re.fullmatch(rf"{what} :: (\d+\.\d+)", line) for line in PROJECT["classifiers"]]
    return [version(match[1]) for match in found if match]


PYTHONS, DJANGOS = claimed("Programming Language :: Python"), claimed("Framework :: Django")


def run_by_the_gate() -> set[tuple[Version, Version]]:
    """Return the pairs of Python and Django that `.ci/run` has tests run on, each time."""
    text = (ROOT / ".ci" / "run").read_text("utf-8")
    assert LONG in text
    text = text.split(LONG)[0]
    named = dict(re.findall(r"^(PY\d+)=\$\(interpreter (3\.\d+)\)$", text, re.MULTILINE))
    legs = re.findall(r'^tests test\S* "[^"]+" "\$(PY\d+)" (\d+\.\d+)', text, re.MULTILINE)
    return {(version(named[python]), version(django)) for python, django in legs}


def test_each_version_that_is_claimed_is_run_by_the_gate_and_no_other() -> None:
    pairs = run_by_the_gate()
    assert {python for python, _django in pairs} == set(PYTHONS)
    assert {django for _python, django in pairs} == set(DJANGOS)
    assert {(min(PYTHONS), min(DJANGOS)), (max(PYTHONS), max(DJANGOS))} <= pairs


def test_the_oldest_versions_are_those_that_installers_are_told() -> None:
    assert SpecifierSet(PROJECT["requires-python"]) == SpecifierSet(f">={dotted(min(PYTHONS))}")
    lowest = {one.name: one.specifier for one in map(Requirement, PROJECT["dependencies"])}
    assert lowest["Django"] == SpecifierSet(f">={dotted(min(DJANGOS))}")


def test_the_tools_read_the_code_as_the_oldest_python_does() -> None:
    tools = CONFIGURATION["tool"]
    assert version(tools["mypy"]["python_version"]) == min(PYTHONS)
    assert tools["ruff"]["target-version"] == "py{}{}".format(*min(PYTHONS))


def dotted(pair: Version) -> str:
    return "{}.{}".format(*pair)


def ranges(what: str, text: str) -> list[tuple[Version, Version]]:
    """Return each "Python 3.11 to 3.13" of a text."""
    found = re.findall(rf"\b{what}\s+(\d+\.\d+)\s+to\s+(\d+\.\d+)", text)
    return [(version(first), version(last)) for first, last in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_the_versions_that_are_claimed(page: Path) -> None:
    text = page.read_text("utf-8")
    assert set(ranges("Python", text)) <= {(min(PYTHONS), max(PYTHONS))}
    assert set(ranges("Django", text)) <= {(min(DJANGOS), max(DJANGOS))}


@pytest.mark.parametrize("name", ["README.md", "docs/support.md"])
def test_the_readme_and_the_page_on_support_name_both(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert ranges("Python", text)
    assert ranges("Django", text)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading of `docs/support.md`."""
    part = (ROOT / "docs" / "support.md").read_text("utf-8").split(f"## {heading}\n")[1]
    part = part.split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


@pytest.mark.parametrize(("what", "versions"), [("Python", PYTHONS), ("Django", DJANGOS)])
def test_the_page_on_support_has_a_row_for_each_version(what: str, versions: list[Version]) -> None:
    found = rows(f"Versions of {what}")
    assert [version(row[0]) for row in found] == versions
    for row in found:
        assert re.fullmatch(r"(?:\d+ )?[A-Z][a-z]+ 20\d\d", row[1]), row


def test_the_page_on_support_has_a_django_beside_each_python_that_it_is_run_with() -> None:
    beside = {
        version(row[0]): {*map(version, row[2].split(", "))} for row in rows("Versions of Django")
    }
    assert set().union(*beside.values()) <= set(PYTHONS)
    assert all(python in beside[django] for python, django in run_by_the_gate())
