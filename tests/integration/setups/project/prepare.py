"""Make the site's tables and its one member of staff, and note what the system checks say."""

import os
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

__all__ = ["PASSWORD", "prepare"]

PASSWORD = "let me in, 1"


def prepare() -> None:
    """Do all that precedes the first request; see `docs/setups.md` for what differs by row."""
    setup, folder = settings.SETUP, Path(os.environ["SETUP_FOLDER"])
    for alias in connections:
        if "mode=ro" not in str(connections[alias].settings_dict["NAME"]):
            call_command("migrate", database=alias, run_syncdb=True, verbosity=0)
    _begin_keys_at(setup.first_key, connections["default"])
    if apps.is_installed("django.contrib.auth"):
        _add_staff(setup.login)
    if "manifest" in str(getattr(settings, "STORAGES", "")).lower():
        call_command("collectstatic", interactive=False, verbosity=0)
    found = sorted({message.id or "" for message in run_checks(databases=list(connections))})
    (folder / "checks").write_text("\n".join(found))
    (folder / "driver").write_text(connections["default"].Database.__name__)
    connections.close_all()


def _add_staff(login: str) -> None:
    from django.contrib.auth import get_user_model

    users = get_user_model()
    name = users.USERNAME_FIELD
    email = {} if name == "email" else {"email": "staff@example.test"}
    users._default_manager.create_superuser(**{name: login, **email}, password=PASSWORD)


def _begin_keys_at(first: int, connection: BaseDatabaseWrapper) -> None:
    """Number our rows from `first` on: SQLite keeps the last key of each table in a table."""
    if first == 1:
        return
    with connection.cursor() as cursor:
        for model in apps.get_app_config("payments_pages").get_models():
            table = model._meta.db_table
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
            cursor.execute("INSERT INTO sqlite_sequence VALUES (%s, %s)", [table, first - 1])
