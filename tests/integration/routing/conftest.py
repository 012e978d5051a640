"""Two more databases beside the suite's own, whatever that one is: a replica, and one for us."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

ALIASES = ("replica", "payments")


@pytest.fixture(scope="package", autouse=True)
def more_databases(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Make both with all tables, before Django's tests forbid what their marks do not name."""
    directory = tmp_path_factory.mktemp("databases")
    default = connections.settings["default"]
    for alias in ALIASES:
        config = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(directory / alias)}
        configured = connections.configure_settings({"default": default, alias: config})
        connections.settings[alias] = configured[alias]
    with django_db_blocker.unblock():
        for alias in ALIASES:
            call_command("migrate", database=alias, run_syncdb=True, verbosity=0)
    yield
    with django_db_blocker.unblock():
        for alias in ALIASES:
            connections[alias].close()
            del connections[alias]
            del connections.settings[alias]
