"""The rooms of the house: which there are, in which order, and how one enters them.

A file imports the words, files of its own room, and rooms further left; of another room only what
its `__init__` lists. docs/design.md says what each room is for.
"""

import ast
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = "payments_pages"
ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST = 300

DOORS = {"admin", "celery", "checks", "management", "tasks", "templatetags", "views"}
ORDER: list[set[str]] = [
    {"", "amounts", "card_codes", "choices", "conf", "credentials", "encryption", "exceptions"}
    | {"counts", "ids", "limits"}
    | {"marks", "merchant", "money", "presets"}
    | {"redaction", "references", "signals", "signatures"},
    {"db"},
    {"client"},
    {"models"},
    {"confirmation", "pages"},
    {"staff"},
    {"doctor"},
    DOORS,
    {"apps", "urls"},
]
"""The words, which stand at the root ("" is the root's own `__init__`); the rooms; the wiring."""
WORDS = ORDER[0]
ROOMS = {"db", "client", "models", "confirmation", "pages", "staff", "doctor"}
"""Rooms that are entered by their front."""
OTHER_SIDE = {"sandbox": WORDS, "migrations": {"choices", "models", "db"}}
"""What stands beside the line, and all that it may import."""
EXCEPTIONS = {
    ("templatetags", "admin"): "they draw parts of the admin's pages",
    ("payments_pages.management.commands.payments_pages_sandbox", "sandbox"): "it starts it",
    (
        "payments_pages.management.commands.payments_pages_webhook",
        "requests",
    ): "it plays the service",
}
PURE = {"payments_pages.confirmation.policy": {"payments_pages.choices"}}
"""What decides by its arguments alone, and all that it imports of ours."""
WITHOUT_DATABASE = "payments_pages.client."
BUT = {"payments_pages.client.factory"}
HTTP_LIBRARIES = {"requests", "urllib3", "http"}
MAY_SPEAK_HTTP = {"client", "sandbox", "testing"}


def floor_of(room: str) -> int:
    return next((number for number, rooms in enumerate(ORDER) if room in rooms), -1)


def room_of(module: str) -> str:
    """The room or word a dotted name falls under: of `payments_pages.models.pages`, models."""
    return module.split(".")[1] if "." in module else ""


def imports_of(module: str, source: str, *, is_package: bool = False) -> Iterator[tuple[str, str]]:
    """Every module that a source imports, wherever the import stands, and the name it takes."""
    parts = module.split(".")
    base = parts if is_package else parts[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = base[: len(base) - node.level + 1] if node.level else []
            name = ".".join([*package, *([node.module] if node.module else [])])
            for alias in node.names:
                if name == PACKAGE and alias.name != "__version__":
                    yield f"{name}.{alias.name}", ""
                else:
                    yield name, alias.name


def complaints(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """What a module imports against the rule."""
    here = room_of(module)
    found = []
    for name, taken in imports_of(module, source, is_package=is_package):
        top = name.split(".")[0]
        speaks = top in HTTP_LIBRARIES and name != "http" and (module, top) not in EXCEPTIONS
        if speaks and here not in MAY_SPEAK_HTTP:
            found.append(f"{module} speaks HTTP: {name}")
        knows_no_database = module in PURE or (
            module.startswith(WITHOUT_DATABASE) and module not in BUT
        )
        if knows_no_database and name.startswith("django.db"):
            found.append(f"{module} works without a database, but imports {name}")
        if top != PACKAGE:
            continue
        if module in PURE and name not in PURE[module]:
            found.append(f"{module} decides by its arguments, but imports {name}")
        there = room_of(name)
        if there == here or here == "testing":
            continue
        if not _may_import(module, here, there):
            found.append(f"{module} must not import {name}")
        elif there in ROOMS and not is_front(name, taken) and here != "migrations":
            found.append(f"{module} enters {there} not by its front: {name} {taken}".strip())
    return found


def _may_import(module: str, here: str, there: str) -> bool:
    if here in OTHER_SIDE:
        return there in OTHER_SIDE[here]
    if (module, there) in EXCEPTIONS or (here, there) in EXCEPTIONS:
        return True
    if floor_of(here) < 0 or floor_of(there) < 0:
        return False
    both_words = here in WORDS and there in WORDS
    return both_words or floor_of(there) < floor_of(here)


def is_front(name: str, taken: str) -> bool:
    """Whether a room is entered by its front, for a name that the front lists."""
    if name.count(".") > 1:
        return False
    return not taken or taken in FRONTS[room_of(name)]


def names_of(source: str) -> list[str]:
    """The names in `__all__`; none if there is no such list."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value: list[str] = ast.literal_eval(node.value)  # type: ignore[attr-defined] - an Assign
            return value
    return []


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


MODULES = {module: (path, path.read_text()) for module, path in modules()}
FRONTS = {room: names_of(MODULES[f"{PACKAGE}.{room}"][1]) for room in ROOMS}


def test_each_file_imports_what_is_left_of_it_and_enters_rooms_by_their_front() -> None:
    found = [
        complaint
        for module, (path, source) in MODULES.items()
        for complaint in complaints(module, source, is_package=path.stem == "__init__")
    ]
    assert found == []


def test_every_module_has_its_place() -> None:
    units = {room_of(module) for module in MODULES}
    places = set().union(*ORDER) | set(OTHER_SIDE) | {"testing"}
    assert units == places


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


def test_nothing_goes_round_in_circles() -> None:
    """A room's front counts for the rooms that enter by it, not for the files inside."""
    graph: dict[str, set[str]] = {}
    for module, (path, source) in MODULES.items():
        graph[module] = set()
        for name, taken in imports_of(module, source, is_package=path.stem == "__init__"):
            target = f"{name}.{taken}" if f"{name}.{taken}" in MODULES else name
            if target in MODULES and target != module and not module.startswith(f"{target}."):
                graph[module].add(target)
    assert cycle_in(graph) == []
    assert cycle_in({"one": {"other"}, "other": {"one"}})


BAD = [
    ("payments_pages.confirmation.policy", "from payments_pages.models import Transaction"),
    ("payments_pages.confirmation.policy", "from payments_pages.conf import conf"),
    ("payments_pages.confirmation.policy", "from payments_pages.confirmation.mirror import write"),
    ("payments_pages.confirmation.policy", "from django.db import models"),
    ("payments_pages.management.commands.payments_pages_sync", "import requests"),
    ("payments_pages.confirmation.mirror", "from payments_pages import views"),
    ("payments_pages.confirmation.mirror", "from payments_pages.pages import create_page"),
    ("payments_pages.confirmation.mirror", "from ..pages import create_page"),
    ("payments_pages.confirmation.mirror", "from payments_pages.models.pages import PaymentPage"),
    ("payments_pages.confirmation.mirror", "from payments_pages.client import transport"),
    ("payments_pages.confirmation.mirror", "def f():\n    from payments_pages.views import callback"),
    ("payments_pages.confirmation.mirror", "if True:\n    import payments_pages.sandbox.server as s"),
    ("payments_pages.views.callback", "from payments_pages.confirmation.confirm import confirm_payment"),
    ("payments_pages.views.callback", "from payments_pages.admin import TransactionAdmin"),
    ("payments_pages.models.pages", "from payments_pages.conf import conf\nfrom ..views import x"),
    ("payments_pages.exceptions", "from payments_pages.db import from_now"),
    ("payments_pages.client.operations", "from payments_pages.models import PaymentPage"),
    ("payments_pages.client.resources", "from django.db import models"),
    ("payments_pages.confirmation.confirm", "import requests"),
    ("payments_pages.views.callback", "from urllib3.util import Retry"),
    ("payments_pages.views.callback", "from payments_pages.testing import fixtures"),
    ("payments_pages.sandbox.api", "from payments_pages.client import PageResource"),
    ("payments_pages.migrations.0002_more", "from payments_pages.confirmation import renew_lease"),
    ("payments_pages.urls", "from payments_pages.apps import PaymentsPagesConfig"),
    ("payments_pages.unheard_of", "from payments_pages.choices import Mode"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "source"), BAD)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    assert complaints(module, source)


GOOD = [
    ("payments_pages.confirmation.policy", "from payments_pages.choices import Reason\nimport json"),
    ("payments_pages.confirmation.recording", "from payments_pages.confirmation.mirror import write"),
    ("payments_pages.confirmation.recording", "from payments_pages.models import Transaction"),
    ("payments_pages.client.transport", "import requests\nfrom payments_pages import __version__"),
    ("payments_pages.views.confirm", "from http import HTTPStatus"),
    ("payments_pages.sandbox.api", "from payments_pages.money import parse_amount"),
    ("payments_pages.testing", "from payments_pages.sandbox import Sandbox"),
    ("payments_pages.management.commands.payments_pages_sandbox",
     "from payments_pages.sandbox import Sandbox"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "source"), GOOD)
def test_a_good_import_is_let_be(module: str, source: str) -> None:
    assert complaints(module, source) == []


def test_the_client_can_be_imported_without_django_being_set_up() -> None:
    names = [name for name in MODULES if name.startswith(WITHOUT_DATABASE)]
    code = f"import sys, {', '.join(names)}; sys.exit('{PACKAGE}.models' in sys.modules)"
    environment = {"PATH": "", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


def test_no_file_is_longer_than_one_can_hold_in_mind() -> None:
    too_long = [
        module
        for module, (_path, source) in MODULES.items()
        # `makemigrations` writes migrations; nobody edits or reads them as code.
        if len(lines_of_code(source)) > LONGEST and room_of(module) != "migrations"
    ]
    assert too_long == []


def lines_of_code(source: str) -> set[int]:
    """The numbers of the lines that hold code: no docstring, no comment, no blank line."""
    told = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source.splitlines(), 1)
    return {number for number, line in lines if line.strip() and line.strip()[0] != "#"} - told


def test_what_is_told_is_not_counted_as_code() -> None:
    source = 'X = 1\n"""Two\nlines."""\n\n# Why.\ndef f():\n    """Do."""\n    return X\n'
    assert lines_of_code(source) == {1, 6, 8}


def hidden_imports(source: str) -> list[str]:
    """Imports inside functions without a reason: a comment on their line or on the one above."""
    lines = ["", *source.splitlines()]
    hidden = {
        node.lineno
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return [
        lines[number].strip()
        for number in sorted(hidden)
        if not _reason(lines[number])
        and not (lines[number - 1].lstrip().startswith("#") and _reason(lines[number - 1]))
    ]


def _reason(line: str) -> bool:
    comment = line.partition("#")[2]
    words = re.sub(r"\s*noqa(: ?[A-Z0-9, ]+)?|type: ignore\S*|[\s#-]+", " ", comment)
    return len(words.strip()) >= 10


def test_no_import_hides_in_a_function_without_a_reason() -> None:
    found = [line for _path, source in MODULES.values() for line in hidden_imports(source)]
    assert found == []


def test_a_hidden_import_is_found() -> None:
    source = textwrap.dedent("""
        import json
        def one():
            import csv
        def two():
            from csv import reader  # noqa: PLC0415
        async def three():
            import werkzeug  # noqa: PLC0415 - an optional dependency
        class Four:
            def five(self):
                if True:
                    import xml  # later
            def six(self):
                # The models must be loaded first.
                import html
    """)
    assert hidden_imports(source) == [
        "import csv",
        "from csv import reader  # noqa: PLC0415",
        "import xml  # later",
    ]
