"""Databases of a test's own: made and named here, and worked on by the lines of the docs."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection, connections
from django.db.utils import load_backend

from payments_pages.confirmation import forget_binding

__all__ = ["Databases", "kind_of", "lines_of", "why_left_out"]

ROOT = Path(__file__).resolve().parent.parent.parent.parent
_BLOCK = re.compile(r"<!-- (commands[^>]*?) -->\n```console\n(.*?)```", re.DOTALL)
_PROGRAMS = {
    "sqlite": (),
    "postgresql": ("pg_dump", "pg_restore", "createdb", "dropdb"),
    "mysql": ("mariadb-dump", "mariadb"),
}
_numbers = count(1)


def kind_of(config: dict[str, Any]) -> str:
    """Return "sqlite", "postgresql" or "mysql" for a database of `DATABASES`."""
    return str(config["ENGINE"]).rpartition(".")[2].removesuffix("3")


def why_left_out(kind: str) -> str:
    """Name the programs of the docs' lines that are not on the PATH; "" if all are."""
    missing = [name for name in ("bash", *_PROGRAMS[kind]) if shutil.which(name) is None]
    return f"no {' and no '.join(missing)} on the PATH" if missing else ""


def lines_of(page: str, mark: str) -> list[str]:
    """Return the lines of the block of a page in `docs/` that has this mark."""
    text = (ROOT / "docs" / page).read_text()
    found = _BLOCK.findall(text)
    assert len(found) == text.count("```console"), "each block has a mark, so a test runs it"
    assert len(dict(found)) == len(found), "no two blocks have one mark"
    return [line.removeprefix("$ ") for line in dict(found)[mark].splitlines()]


class Databases:
    """The databases of one test, on the suite's server or in SQLite files of the test's folder."""

    def __init__(self, folder: Path, environment: Callable[[], dict[str, str]]) -> None:
        self._folder = folder
        self._environment = environment
        self._suite = connection.settings_dict
        self._made: list[str] = []
        self.kind = kind_of(self._suite)
        self.word = {"mysql": "mariadb"}.get(self.kind, self.kind)

    def create(self, name: str, kind: str = "") -> dict[str, Any]:
        """Make an empty database; return what `DATABASES` has of it."""
        if (kind or self.kind) == "sqlite":
            path = str(self._folder / f"{name}.sqlite3")
            if self.kind == "sqlite":
                return {**self._suite, "NAME": path}
            return {"ENGINE": "django.db.backends.sqlite3", "NAME": path}
        own = f"copies_{os.getpid()}_{next(_numbers)}_{name}"
        self._made.append(own)
        more = " CHARACTER SET utf8mb4" if self.kind == "mysql" else ""
        self._execute(f"CREATE DATABASE {own}{more}")
        return {**self._suite, "NAME": own}

    def create_tables(self, config: dict[str, Any]) -> None:
        """Make the tables, as a first `migrate` does."""
        with self.serving(config):
            call_command("migrate", run_syncdb=True, verbosity=0)

    def drop_all(self) -> None:
        """Drop those on a server; files go with the test's folder."""
        more = " WITH (FORCE)" if self.kind == "postgresql" else ""
        for name in self._made:
            self._execute(f"DROP DATABASE IF EXISTS {name}{more}")

    @contextmanager
    def serving(self, config: dict[str, Any]) -> Iterator[None]:
        """Let this process be a site on a database; no connection to it is left afterwards."""
        suite, known = connections["default"], connections.settings["default"]
        settings = connections.configure_settings({"default": {**config}})["default"]
        own = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, "default")
        connections["default"], connections.settings["default"] = own, settings
        forget_binding()
        try:
            yield
        finally:
            own.close()
            connections["default"], connections.settings["default"] = suite, known
            forget_binding()

    def run(self, line: str, config: dict[str, Any]) -> tuple[int, str]:
        """Run a line of the docs in the test's folder; return its exit code and what it printed.

        The database that the docs call `shop` is that of `config`. Names of other files stay.
        """
        name = str(config["NAME"])
        if kind_of(config) == "sqlite":
            line = re.sub(r"(?<![\w./-])shop(?=\.sqlite3)", Path(name).stem, line)
        else:
            line = re.sub(r"(?<![\w./-])shop(?![\w.-])", name, line)
        line = line.replace("python manage.py", f"python {shlex.quote(str(ROOT / 'manage.py'))}")
        environment = self._environment() | self._client(config)
        environment |= {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "TESTS_DATABASE_NAME": name,
        }
        if kind_of(config) == "sqlite":
            environment["DATABASE_URL"] = ""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def run_all(self, lines: list[str], config: dict[str, Any]) -> str:
        """Run lines of which each ends well; return what they printed."""
        said = ""
        for line in lines:
            code, output = self.run(line, config)
            assert code == 0, f"{line}\n{output}"
            said += output
        return said

    def _client(self, config: dict[str, Any]) -> dict[str, str]:
        """What the server's own programs read: where it is, and who asks."""
        names = ("HOST", "PORT", "USER", "PASSWORD")
        found = {name.lower(): str(config[name]) for name in names if config.get(name)}
        if kind_of(config) == "postgresql":
            return {f"PG{name.upper()}": value for name, value in found.items()}
        if kind_of(config) == "mysql":
            lines = "".join(f"{name}={value}\n" for name, value in found.items())
            (self._folder / ".my.cnf").write_text(f"[client]\nprotocol=tcp\n{lines}")
            return {"HOME": str(self._folder)}
        return {}

    def _execute(self, statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)
