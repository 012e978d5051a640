"""The lists that `docs/api.md` points to exist, and say what the code has.

Some are compared where they are used: settings, commands, signals, templates and blocks in
`tests/acceptance/test_reference_tables.py`, the popup's attributes in `tests/acceptance/test_docs.py`,
permissions in `tests/unit/admin/test_groups.py`, log records in `tests/unit/test_observability.py`.
"""

import inspect
import re
from types import FunctionType

import pytest
from django.core.checks.registry import registry

from payments_pages import checks, signals
from tests.unit.test_public_names import ROOT, section

CHECK_ID = re.compile(r"\b[EW]\d{3}\b")
CHECKS = (ROOT / "docs" / "checks.md").read_text()

entries = re.findall(r"^- .+?(?=^- |\Z)", section("Listed elsewhere"), re.MULTILINE | re.DOTALL)
functions: list[FunctionType] = [getattr(checks, name) for name in checks.__all__]


@pytest.mark.parametrize("entry", entries)
def test_each_list_is_on_a_page_that_exists_or_is_here(entry: str) -> None:
    pages = [ROOT / page for page in re.findall(r"`((?:docs/)?\w[\w-]*\.md)`", entry)]
    pages += [ROOT / "docs" / page for page in re.findall(r"\]\((\w[\w-]*\.md)\)", entry)]
    assert [page for page in pages if not page.is_file()] == []
    assert pages or re.search(r"`payments_pages\.celery\.\w+`", entry)


def test_the_lists_are_all_there() -> None:
    assert len(entries) == 8
    for what in (
        "popup.js",
        "setting",
        "checks",
        "permissions",
        "log records",
        "templates",
        "doctor",
    ):
        assert sum(what in entry for entry in entries) == 1, what


def used_by(function: FunctionType) -> set[str]:
    """The ids that the functions of the check's file use, as far as its docstring names them."""
    return set(CHECK_ID.findall(function.__doc__ or ""))


def documented() -> list[str]:
    return re.findall(r"^\| `payments_pages\.([EW]\d{3})` \| \S.* \|$", CHECKS, re.MULTILINE)


def test_the_page_lists_the_ids_of_the_checks() -> None:
    sources = (ROOT / "payments_pages" / "checks").glob("*.py")
    found = {
        name
        for path in sources
        for name in re.findall(r"\"payments_pages\.([EW]\d{3})\"", path.read_text())
    }
    assert documented() == sorted(found)


def test_every_id_is_named_by_the_function_that_gives_it() -> None:
    named = {name for function in functions for name in used_by(function) if name in documented()}
    ranges = {f"E{number:03}" for number in range(11, 15)}  # "E011 to E014"
    assert named | ranges == set(documented())
    for function in functions:
        given = set(re.findall(r"payments_pages\.([EW]\d{3})\"", inspect.getsource(function)))
        assert given - ranges <= used_by(function), function.__name__


def test_the_page_says_which_faults_only_deploy_shows() -> None:
    deployed = {
        name
        for function in functions
        if function in registry.deployment_checks
        for name in used_by(function)
    }
    said = set(re.findall(r"`payments_pages\.(\w+)`.*`check --deploy`", CHECKS))
    assert said == deployed


def test_the_module_of_the_signals_says_what_each_one_carries() -> None:
    told = re.findall(r"^- `(\w+)`: `\w+`", signals.__doc__ or "", re.MULTILINE)
    assert sorted(told) == signals.__all__
