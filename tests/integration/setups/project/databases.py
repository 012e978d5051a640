"""The databases of the site: SQLite files in its folder, or what its row asks for."""

import os
from pathlib import Path
from typing import Any

import environ

from tests.integration.setups.setup import Setup

__all__ = ["databases", "file_of"]


def file_of(folder: Path, alias: str) -> Path:
    """Return the file that an alias is kept in."""
    return folder / f"{alias}.sqlite3"


def databases(setup: Setup, folder: Path) -> dict[str, Any]:
    """Return `DATABASES`; a row's own entries are merged into those of its aliases."""
    named = setup.settings.get("DATABASES", {})
    found = {
        alias: {**_new(setup, folder, alias), **named.get(alias, {})}
        for alias in ("default", *named)
    }
    for config in found.values():
        # A replica that has what its primary has, and takes no write.
        if (primary := config.pop("REPLICA_OF", "")) != "":
            config["NAME"] = f"{file_of(folder, primary).as_uri()}?mode=ro"
            config["OPTIONS"] |= {"uri": True}
    return found


def _new(setup: Setup, folder: Path, alias: str) -> dict[str, Any]:
    if setup.postgresql:
        config: dict[str, Any] = environ.Env.db_url_config(os.environ["SETUP_DATABASE_URL"])
        return config
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(file_of(folder, alias)),
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
    }
