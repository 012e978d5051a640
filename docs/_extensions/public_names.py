"""The reference of the public names, made of the list in `api.md`.

The line `<!-- public names -->` of a page is replaced by one section for each module of that list,
with what the docstrings say of each name. A test compares the list with the code
(`tests/unit/test_public_names.py`), so that no public name can be missing here.
"""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import Choices, Field, Model
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PLACE = "<!-- public names -->"
LIST = Path(__file__).resolve().parent.parent / "api.md"
MODULE = re.compile(r"^### `([\w.]+)`\n(.*?)(?=^#|\Z)", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"^- `(\w+)`: (.+?)(?=^- |\Z)", re.DOTALL | re.MULTILINE)
MANAGER = re.compile(r"`\w+\.objects\.(\w+)\(")
"""A method of a model's manager that the list names."""

OURS = "payments_pages"
UNCALLED = (Model, Choices, ModelAdmin, BaseException)
"""Classes that users of this package do not call."""


def listed() -> dict[str, dict[str, str]]:
    """Return the public modules, each with its names and what the list says of each name."""
    names = LIST.read_text().split("\n## Names to import\n")[1].split("\n## ")[0]
    return {
        module: {name: " ".join(said.split()) for name, said in NAME.findall(text)}
        for module, text in MODULE.findall(f"{names}\n")
    }


def addresses() -> dict[str, str]:
    """Return where a public name is imported from, by where it is defined."""
    found = {}
    for module, names in listed().items():
        for name in names:
            thing = getattr(import_module(module), name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = f"{module}.{name}"
    return found


def short_names() -> dict[str, str]:
    """Return the whole name of each public name; of those that stand in two modules, none."""
    found: dict[str, str] = {}
    for module, names in listed().items():
        for name in names:
            found[name] = "" if name in found else f"{module}.{name}"
            found[f"{module}.{name}"] = f"{module}.{name}"
    return found


def take_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the placeholder of a page by the reference."""
    if PLACE in source[0]:
        app.env.note_dependency(str(LIST))
        source[0] = source[0].replace(PLACE, "\n".join(reference()))


def reference() -> Iterator[str]:
    """Write the sections, as Markdown with a block of reStructuredText for autodoc."""
    for module, names in listed().items():
        yield from ("", f"## `{module}`", "", "```{eval-rst}", f".. automodule:: {module}", "")
        for name, said in names.items():
            yield from entry(module, name, said)
        yield from ("```", "")


def entry(module: str, name: str, said: str) -> Iterator[str]:
    """Write the directive of one name."""
    thing = getattr(import_module(module), name)
    if inspect.isclass(thing):
        # Empty brackets: the signature is Django's or Python's own, and `docstrings` drops it.
        yield f".. autoclass:: {module}.{name}{'()' if issubclass(thing, UNCALLED) else ''}"
        if issubclass(thing, BaseException):
            yield "   :show-inheritance:"
        if members := list(documented(thing)):
            yield f"   :members: {', '.join(members)}"
        yield ""
        if issubclass(thing, Model):
            rows = list(fields(thing))
            head = ["field", "kind", "in the admin"]
            columns = 3 if any(label for _name, _kind, label in rows) else 2
            yield from table(head[:columns], [row[:columns] for row in rows])
            for method in MANAGER.findall(said):
                manager = type(thing._default_manager)
                where = f"{manager.__module__}.{manager.__qualname__}.{method}"
                yield from (f"   Called as ``{name}.objects.{method}(…)``:", "")
                yield from (f"   .. automethod:: {where}", "      :no-index:", "")
        if issubclass(thing, Choices):
            rows = [[f"``{one.name}``", f'``"{one.value}"``', str(one.label)] for one in thing]
            yield from table(["member", "value", "in the admin"], rows)
    elif inspect.isfunction(thing):
        yield from (f".. autofunction:: {module}.{name}", "")
    elif inspect.isfunction(getattr(thing, "__wrapped__", None)):  # a fixture of pytest
        yield from (f".. py:function:: {name}()", f"   :module: {module}", "")
        yield from (f"   {said[0].upper()}{said[1:]}", "")
    else:
        said = re.sub(r"`([^`]+)`", r"``\1``", said)
        yield from (f".. py:data:: {name}", f"   :module: {module}", "")
        yield from (f"   {said[0].upper()}{said[1:]}", "")


def documented(thing: type) -> Iterator[str]:
    """Name the methods and properties that have a docstring of ours; of an admin's class, none."""
    if issubclass(thing, ModelAdmin | BaseException):
        return
    seen = set()
    for parent in thing.__mro__:
        for name, member in vars(parent).items():
            if not parent.__module__.startswith(OURS) or name.startswith("_") or name in seen:
                continue
            seen.add(name)
            called = inspect.isroutine(member) or isinstance(member, classmethod | staticmethod)
            if (called or hasattr(type(member), "__get__")) and is_described(member):
                yield name


def is_described(member: Any) -> bool:
    """Say whether a member has a docstring that was written in this package."""
    function = next(
        (
            found
            for attribute in ("__func__", "fget", "func", "__wrapped__")
            if (found := getattr(member, attribute, None))
        ),
        member,
    )
    return bool(function.__doc__) and getattr(function, "__module__", "").startswith(OURS)


def fields(model: type[Model]) -> Iterator[list[str]]:
    """Write one row for each column of a model, with its label where that is not its name."""
    for field in model._meta.get_fields():
        if isinstance(field, Field):
            label = str(field.verbose_name)
            is_name = label.lower() == field.name.replace("_", " ")
            yield [f"``{field.name}``", kind(field), "" if is_name else label]


def kind(field: "Field[Any, Any]") -> str:
    """Say what a column holds."""
    name = field.get_internal_type()
    if target := field.related_model:
        public = addresses().get(f"{target.__module__}.{target.__qualname__}")
        whose = f":py:class:`~{public}`" if public else f"``{target.__name__}``"
        return f"``{name}`` to {whose}{', or None' if field.null else ''}"
    length = f", {field.max_length} characters" if name == "CharField" else ""
    return f"``{name}``{length}{', or None' if field.null else ''}"


def table(head: list[str], rows: Any) -> Iterator[str]:
    """Write a table inside a directive."""
    yield from ("   .. list-table::", "      :header-rows: 1", "")
    for row in [head, *rows]:
        for number, cell in enumerate(row):
            yield f"      {' ' if number else '*'} - {cell}"
    yield ""


def resolve(
    app: Sphinx, env: BuildEnvironment, node: Any, contnode: nodes.Element
) -> nodes.Element | None:
    """Lead a name, wherever its module is, to where it is documented: where it is imported from."""
    if node.get("refdomain") != "py":
        return None
    target = addresses().get(node["reftarget"])
    if target is None:
        return None
    domain = env.domains["py"]
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, contnode)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("source-read", take_in)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
