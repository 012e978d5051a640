"""Make a database for each size, on SQLite or on a server, and run this package's parts on it."""

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["SERVERS", "create", "database_url", "run"]

ROOT = Path(__file__).resolve().parent.parent.parent.parent
NAME = "pp_growth"
SERVERS = {
    "sqlite": f"sqlite:///{ROOT / 'var'}/{NAME}_{{size}}.sqlite3",
    "postgresql": f"postgres://postgres@127.0.0.1:5432/{NAME}_{{size}}",
    "mariadb": f"mysql://root@127.0.0.1:3306/{NAME}_{{size}}",
}
"""The address of each kind of database; `--server-url` changes it. "{size}" is put in."""


def database_url(server: str, size: int, template: str = "") -> str:
    """Return the address of the database that holds `size` payments."""
    return (template or SERVERS[server]).format(size=size)


def create(url: str) -> None:
    """Make the database anew, empty, with the tables."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        path.parent.mkdir(exist_ok=True)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    else:
        _create_on_server(url)
    run(url, "-m", "django", "migrate", "--verbosity", "0")


def run(url: str, *arguments: str) -> str:
    """Run Python on a database, with the settings of this package; return what it prints."""
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "tests.benchmarks.growth.settings",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def _create_on_server(url: str) -> None:
    base, _slash, name = url.rpartition("/")
    if url.startswith("postgres"):
        import psycopg

        with psycopg.connect(f"{base}/postgres", autocommit=True) as server:
            server.execute(f'DROP DATABASE IF EXISTS "{name}"')  # type: ignore[arg-type, unused-ignore]  # our own name
            server.execute(f'CREATE DATABASE "{name}"')  # type: ignore[arg-type, unused-ignore]  # our own name
        return
    import environ  # type: ignore[import-untyped]
    import MySQLdb

    config = environ.Env.db_url_config(url)
    server = MySQLdb.connect(
        host=config["HOST"],
        port=int(config["PORT"] or 3306),
        user=config["USER"],
        password=config["PASSWORD"],
    )
    with server.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")
        cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
    server.close()
