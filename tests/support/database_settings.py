"""Build the suite's database from the environment: which server, which isolation, which journal.

DATABASE_URL      a PostgreSQL, MariaDB or MySQL server; without it SQLite in a file
TESTS_ISOLATION   "read committed", "repeatable read" or "serializable", on a server; on MariaDB
                  also "snapshot": repeatable read with innodb_snapshot_isolation
TESTS_SQLITE      "wal" (default: WAL, IMMEDIATE), "immediate" (rollback journal, IMMEDIATE),
                  "deferred" (WAL, deferred) or "default" (Django's own: rollback journal, deferred)
TESTS_POOLER      "1": the address is a pooler's in transaction mode
"""

import os
from pathlib import Path
from typing import Any

import environ

__all__ = ["database"]

_WAL = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
_SQLITE: dict[str, dict[str, Any]] = {
    "wal": {"transaction_mode": "IMMEDIATE", "init_command": _WAL},
    "immediate": {"transaction_mode": "IMMEDIATE"},
    "deferred": {"init_command": _WAL},
    "default": {},
}


def database(directory: Path) -> dict[str, Any]:
    """The `DATABASES["default"]` of this run; files are kept in `directory`."""
    directory.mkdir(exist_ok=True)
    url = os.environ.get("DATABASE_URL") or f"sqlite:///{directory / 'tests.sqlite3'}"
    config: dict[str, Any] = environ.Env.db_url_config(url)
    isolation = os.environ.get("TESTS_ISOLATION", "")
    if config["ENGINE"].endswith("sqlite3"):
        options = _SQLITE[os.environ.get("TESTS_SQLITE") or "wal"]
        config["OPTIONS"] = {"timeout": 20, **options}
        # On disk: other threads and processes must see it.
        config["TEST"] = {"NAME": str(directory / f"test-{os.getpid()}.sqlite3")}
    elif config["ENGINE"].endswith("mysql"):
        config["OPTIONS"] = {"charset": "utf8mb4", **_mysql(isolation)}
        config["TEST"] = {"CHARSET": "utf8mb4"}
    elif isolation:
        from psycopg import IsolationLevel

        level = IsolationLevel[isolation.upper().replace(" ", "_")]
        config["OPTIONS"] = {"isolation_level": level}
        if level is not IsolationLevel.READ_COMMITTED:
            # Django's option is for `atomic()` alone; as the session's default it holds outside, too.
            default = isolation.replace(" ", r"\ ")
            config["OPTIONS"]["options"] = f"-c default_transaction_isolation={default}"
    if os.environ.get("TESTS_POOLER") == "1":
        config["DISABLE_SERVER_SIDE_CURSORS"] = True
    return config


def _mysql(isolation: str) -> dict[str, str]:
    if isolation == "snapshot":
        return {
            "isolation_level": "repeatable read",
            "init_command": "SET SESSION innodb_snapshot_isolation=ON",
        }
    return {"isolation_level": isolation} if isolation else {}
