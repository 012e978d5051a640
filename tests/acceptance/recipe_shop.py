"""A shop made of the snippets of `docs/recipes.md`: an installed app with tables of its own."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from django.apps import apps
from django.db import connection

from tests.support.guide_pages import GuidePage, shop_in

__all__ = ["PAGE", "recipe_shop"]

PAGE = GuidePage("recipes.md")
_LABEL = "recipe_shop"
# The example's app has the label "shop", too.
_CONFIG = f"""
from django.apps import AppConfig

class Shop(AppConfig):
    name, label = "shop", "{_LABEL}"
"""
_LOADED: dict[str, ModuleType] = {}
_PLACES: list[Path] = []


def _write(folder: Path) -> None:
    commands = folder / "management" / "commands"
    commands.mkdir(parents=True)
    for package in (folder, commands.parent, commands):
        (package / "__init__.py").touch()
    (folder / "apps.py").write_text(_CONFIG)
    for name in PAGE.names():
        place = (
            commands / "books.py" if name == "books" else folder / f"{name.replace('-', '_')}.py"
        )
        if name != "setting":
            place.write_text(PAGE.snippet(name))


@contextmanager
def recipe_shop(folder: Path, settings: Any) -> Iterator[Any]:
    """Install the shop and make its tables; give a function that imports one of its modules.

    `settings` is the fixture: what a test changes after this is undone before this.

    Django registers a model's class once in a process: the modules are kept for the next test, and
    are out of the way of other tests meanwhile.
    """
    if not _PLACES:
        _write(folder / "shop")
        _PLACES.append(folder)
    with shop_in(_PLACES[0], _LOADED):
        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "shop"]
        models = list(apps.get_app_config(_LABEL).get_models())
        with connection.schema_editor() as editor:
            for model in models:
                editor.create_model(model)
        try:
            yield lambda name: importlib.import_module(f"shop.{name}")
        finally:
            with connection.schema_editor() as editor:
                for model in models:
                    editor.delete_model(model)
