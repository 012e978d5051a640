"""Turn `DATABASE_URL` into Django's own dictionary, with what a race needs on each server."""

from pathlib import Path
from typing import Any

import environ  # type: ignore[import-untyped]  # ships no types

__all__ = ["database"]

_MYSQL = "django.db.backends.mysql"
_SQLITE = "django.db.backends.sqlite3"

_SQLITE_OPTIONS = {
    # A deferred transaction that reads first and writes later fails with "locked" at once.
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    # Readers do not block the writer; a commit survives a power cut, not only a crash.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
}
# MySQL's three-byte "utf8" refuses the emoji in a payer's name.
_MYSQL_OPTIONS = {"charset": "utf8mb4"}
_MYSQL_TEST = {"CHARSET": "utf8mb4"}


def database(url: str, default: Path) -> dict[str, Any]:
    """Return the `DATABASES["default"]` entry for `url`, or SQLite at `default` if it is blank.

    Takes sqlite, postgres(ql), mysql and mariadb addresses; options in the query string win.
    Raise `environ.ImproperlyConfigured` for an address that cannot be read.
    """
    if not url:
        config: dict[str, Any] = {"ENGINE": _SQLITE, "NAME": str(default)}
    else:
        # The scheme that the server's own documentation uses; Django has one backend for both.
        if url.startswith("mariadb://"):
            url = url.replace("mariadb://", "mysql://", 1)
        config = environ.Env.db_url_config(url)
    given = config.get("OPTIONS", {})
    if config["ENGINE"] == _SQLITE:
        config["OPTIONS"] = _SQLITE_OPTIONS | given
    elif config["ENGINE"] == _MYSQL:
        config["OPTIONS"] = _MYSQL_OPTIONS | given
        config["TEST"] = dict(_MYSQL_TEST)
    # A pooled connection per thread outlives its request; a dead one is found before use.
    config["CONN_MAX_AGE"] = 0 if config["ENGINE"] == _SQLITE else 60
    config["CONN_HEALTH_CHECKS"] = True
    return config
