"""Imports point down the layers; inside a layer only the drawn arrows. The table is the design."""

import ast
import importlib
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "payments_pages"
ROOT = Path(__file__).resolve().parent.parent
LONGEST = 300

LAYERS: dict[str, int] = {
    # Words.
    "": 0, "choices": 0, "exceptions": 0, "keys": 0, "masking": 0, "money": 0, "redaction": 0, "signals": 0, "storable": 0,
    # Values.
    "addresses": 1, "arguments": 1, "conf": 1, "databases": 1, "references": 1, "resources": 1,
    "signatures": 1, "slugs": 1, "wire": 1,
    # Edges: the network, the database.
    "answers": 2, "breaker": 2, "budgets": 2, "bulkhead": 2, "client": 2, "connection": 2,
    "envelope": 2, "failures": 2, "gates": 2, "models": 2, "prepared": 2, "sessions": 2, "sockets": 2,
    "statements": 2, "transport": 2,
    # Steps of the path.
    "admission": 3, "attribution": 3, "completion": 3, "delivery": 3, "following": 3, "fulfilment": 3, "handlers": 3, "inbox": 3, "mirror": 3, "nudging": 3,
    "policy": 3, "reconsidering": 3, "recording": 3, "schedule": 3, "verification": 3, "waiting": 3,
    # Use cases.
    "attention": 4, "confirmation": 4, "export": 4, "outcomes": 4, "pages": 4, "retention": 4, "roles": 4, "staff": 4, "sweeping": 4,
    "sync": 4, "totals": 4, "webhooks": 4,
    "worker": 4,
    # Doors.
    "admin": 5, "celery": 5, "checks": 5, "management": 5, "tasks": 5, "templatetags": 5, "views": 5,
    # Wiring.
    "apps": 6, "urls": 6,
}  # fmt: skip
"""Of each module or package below `payments_pages`, its layer; "" is the root itself."""

ARROWS: frozenset[tuple[str, str]] = frozenset({
    ("keys", "exceptions"), ("money", "exceptions"),
    ("conf", "databases"), ("references", "conf"), ("references", "databases"), ("slugs", "conf"),
    ("slugs", "databases"),
    ("resources", "wire"),
    ("client", "envelope"), ("client", "gates"), ("client", "transport"),
    ("connection", "client"), ("connection", "gates"), ("envelope", "answers"),
    ("prepared", "models"), ("prepared", "statements"),
    ("gates", "breaker"), ("gates", "bulkhead"), ("sessions", "sockets"),
    ("transport", "answers"), ("transport", "breaker"), ("transport", "failures"),
    ("transport", "gates"), ("transport", "sessions"), ("transport", "sockets"),
    ("admission", "inbox"), ("admission", "waiting"), ("attribution", "policy"), ("completion", "handlers"), ("delivery", "completion"), ("delivery", "fulfilment"), ("delivery", "handlers"),
    ("fulfilment", "policy"), ("nudging", "fulfilment"), ("nudging", "handlers"),
    ("mirror", "attribution"),
    ("recording", "attribution"), ("recording", "fulfilment"), ("recording", "mirror"),
    ("recording", "policy"), ("recording", "verification"), ("reconsidering", "attribution"),
    ("reconsidering", "fulfilment"), ("reconsidering", "mirror"), ("reconsidering", "recording"), ("reconsidering", "verification"),
    ("inbox", "schedule"), ("recording", "inbox"), ("verification", "inbox"), ("verification", "policy"), ("verification", "schedule"),
    ("attention", "sweeping"), ("confirmation", "outcomes"), ("staff", "confirmation"), ("sweeping", "confirmation"),
    ("templatetags", "admin"), ("webhooks", "confirmation"), ("worker", "confirmation"),
})  # fmt: skip
"""The arrows inside a layer."""

EXCEPTIONS: frozenset[tuple[str, str]] = frozenset({
    ("payments_pages.management.commands.payments_pages_sandbox", "sandbox"),
    ("payments_pages.management.commands.payments_pages_webhook", "requests"),
})  # fmt: skip
"""Modules that may look over the wire: they start the other side, or play its part."""

PURE: dict[str, frozenset[str]] = {"policy": frozenset({"choices"})}
"""Modules that decide by their arguments alone, and all that they may import of ours."""

NO_DATABASE = frozenset({
    "addresses", "answers", "arguments", "breaker", "bulkhead", "client", "envelope", "failures",
    "gates", "resources", "sessions", "sockets", "storable", "transport", "wire",
})  # fmt: skip
HTTP_LIBRARIES = frozenset({"requests", "urllib3", "http"})
MAY_SPEAK_HTTP = frozenset({
    "answers", "client", "failures", "sandbox", "sessions", "sockets", "testing", "transport",
})  # fmt: skip


def unit_of(module: str) -> str:
    """The part of the table that a dotted name falls under: `payments_pages.models.pages`, models."""
    return module.split(".")[1] if "." in module else ""


def imports_of(module: str, source: str, *, is_package: bool = False) -> Iterator[str]:
    """Every dotted name that a source imports, wherever the import stands."""
    parts = module.split(".")
    base = parts if is_package else parts[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = base[: len(base) - node.level + 1] if node.level else []
            name = ".".join([*package, *([node.module] if node.module else [])])
            if name == PACKAGE:
                yield from (f"{name}.{alias.name}" for alias in node.names)
            else:
                yield name


def complaints(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """What a module imports against the table."""
    here = unit_of(module)
    found = []
    for name in imports_of(module, source, is_package=is_package):
        top = name.split(".")[0]
        speaks = top in HTTP_LIBRARIES and name != "http" and (module, top) not in EXCEPTIONS
        if speaks and here not in MAY_SPEAK_HTTP:
            found.append(f"{module} speaks HTTP: {name}")
        if here in NO_DATABASE | set(PURE) and name.startswith("django.db"):
            found.append(f"{module} works without a database, but imports {name}")
        if top != PACKAGE:
            continue
        there = unit_of(name)
        if there in {"__version__", "VERSION"}:
            there = ""
        if there != here and not _is_drawn(module, here, there):
            found.append(f"{module} must not import {name}")
    return found


def _is_drawn(module: str, here: str, there: str) -> bool:
    if here == "testing":
        return True
    if here == "sandbox":
        return LAYERS.get(there) == 0
    if here == "migrations":
        return there in {"choices", "models"}
    if (module, there) in EXCEPTIONS:
        return True
    if here not in LAYERS or there not in LAYERS:
        return False
    if here in PURE:
        return there in PURE[here]
    return LAYERS[there] < LAYERS[here] or (here, there) in ARROWS


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


MODULES = dict(modules())
over_all_modules = pytest.mark.parametrize(("module", "path"), MODULES.items(), ids=MODULES.keys())


@over_all_modules
def test_imports_point_down(module: str, path: Path) -> None:
    assert complaints(module, path.read_text(), is_package=path.stem == "__init__") == []


def test_every_module_has_its_place_in_the_table() -> None:
    other_side = {"migrations", "sandbox", "testing"}
    units = {unit_of(module) for module in MODULES}
    assert units - set(LAYERS) - other_side == set()
    assert set(LAYERS) - units == set(), "the table names what is gone"
    for one, other in ARROWS:
        assert LAYERS[one] == LAYERS[other], f"{one} ▸ {other} is not inside a layer"


BAD = [
    ("payments_pages.policy", "from payments_pages.models import Transaction"),
    ("payments_pages.policy", "from payments_pages.confirmation import confirm_payment"),
    ("payments_pages.policy", "from payments_pages.conf import conf"),
    ("payments_pages.policy", "from django.db import models"),
    ("payments_pages.management.commands.payments_pages_sync", "import requests"),
    ("payments_pages.mirror", "from payments_pages import fulfilment"),
    ("payments_pages.mirror", "from payments_pages.fulfilment import claim as c"),
    ("payments_pages.mirror", "from . import fulfilment"),
    ("payments_pages.mirror", "from .fulfilment import claim"),
    ("payments_pages.mirror", "import payments_pages.views"),
    ("payments_pages.mirror", "def f():\n    from payments_pages.views import callback"),
    ("payments_pages.mirror", "if True:\n    import payments_pages.sandbox.server as s"),
    ("payments_pages.models.pages", "from payments_pages.conf import conf\nfrom ..views import x"),
    ("payments_pages.models.pages", "from payments_pages.pages import create_page"),
    ("payments_pages.exceptions", "from payments_pages.choices import Mode"),
    ("payments_pages.conf", "from payments_pages.resources import PageResource"),
    ("payments_pages.client", "from payments_pages.models import PaymentPage"),
    ("payments_pages.client", "from payments_pages.connection import get_client"),
    ("payments_pages.resources", "from django.db import models"),
    ("payments_pages.wire", "import django.db.models"),
    ("payments_pages.confirmation", "import requests"),
    ("payments_pages.views.callback", "from urllib3.util import Retry"),
    ("payments_pages.views.callback", "from payments_pages.testing import fixtures"),
    ("payments_pages.management.commands.payments_pages_sync", "import payments_pages.sandbox"),
    ("payments_pages.sandbox.api", "from payments_pages.conf import conf"),
    ("payments_pages.sandbox.api", "from payments_pages.resources import PageResource"),
    ("payments_pages.migrations.0002_more", "from payments_pages.fulfilment import claim"),
    ("payments_pages.urls", "from payments_pages.apps import PaymentsPagesConfig"),
    ("payments_pages.policy", "from payments_pages.unheard_of import x"),
    ("payments_pages.unheard_of", "from payments_pages.choices import Mode"),
]


@pytest.mark.parametrize(("module", "source"), BAD)
def test_the_table_can_fail(module: str, source: str) -> None:
    assert complaints(module, source)


GOOD = [
    ("payments_pages.policy", "from payments_pages.choices import Reason\nimport json"),
    ("payments_pages.recording", "from payments_pages import mirror\nfrom .verification import x"),
    ("payments_pages.models.pages", "from payments_pages.models.querysets import PrimaryQuerySet"),
    ("payments_pages.transport", "import requests\nfrom payments_pages import __version__"),
    ("payments_pages.views.confirm", "from http import HTTPStatus"),
    ("payments_pages.sandbox.api", "from payments_pages.money import parse_amount"),
    ("payments_pages.testing", "from payments_pages.sandbox import Sandbox"),
    ("payments_pages.management.commands.payments_pages_sandbox",
     "from payments_pages.sandbox import Sandbox"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "source"), GOOD)
def test_the_table_lets_good_imports_be(module: str, source: str) -> None:
    assert complaints(module, source) == []


@pytest.mark.parametrize("unit", sorted(NO_DATABASE))
def test_these_can_be_imported_without_django_being_set_up(unit: str) -> None:
    code = f"import sys, {PACKAGE}.{unit}; sys.exit('{PACKAGE}.models' in sys.modules)"
    environment = {"PATH": "", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


# Small rooms


@over_all_modules
def test_no_module_outgrows_its_room(module: str, path: Path) -> None:
    assert len(lines_of_code(path.read_text())) <= LONGEST


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


def names_of(source: str) -> list[str] | None:
    """The names in `__all__`; None if there is no such list."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value: list[str] = ast.literal_eval(node.value)  # type: ignore[attr-defined] - an Assign
            return value
    return None


def in_order(names: list[str]) -> bool:
    """Constants, then classes, then the rest, each by name."""

    def key(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    return names == sorted(names, key=key)


PUBLIC = {
    module: path
    for module, path in MODULES.items()
    if path.read_text().strip()
    and module != PACKAGE
    and unit_of(module) not in {"management", "migrations"}
    and not module.split(".")[-1].startswith("_")
}


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_module_lists_what_it_offers_in_order(module: str) -> None:
    names = names_of(PUBLIC[module].read_text())
    assert names is not None
    assert in_order(names)
    loaded = importlib.import_module(module)
    assert [name for name in names if not hasattr(loaded, name)] == []


def test_the_order_can_fail() -> None:
    assert in_order(["LIMIT", "Client", "build"])
    assert not in_order(["Client", "LIMIT"])
    assert not in_order(["b", "a"])
    assert names_of("x = 1") is None


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


@over_all_modules
def test_no_import_hides_in_a_function_without_a_reason(module: str, path: Path) -> None:
    assert hidden_imports(path.read_text()) == []


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
