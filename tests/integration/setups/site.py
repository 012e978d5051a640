"""One running site: its process, its folder, its proxy, and what its handler has given."""

import os
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from payments_pages.sandbox import Sandbox
from tests.integration.setups.project.databases import file_of
from tests.integration.setups.proxy import Proxy
from tests.integration.setups.setup import Setup

__all__ = ["Site"]

ROOT = Path(__file__).resolve().parent.parent.parent.parent
SECONDS = 60
"""How long a site may take to start on a busy machine."""


class Site:
    """A set-up that runs: leaving the `with` block ends its process."""

    def __init__(
        self, setup: Setup, sandbox: Sandbox, folder: Path, database_url: str = ""
    ) -> None:
        self.setup, self.sandbox, self.folder = setup, sandbox, folder
        self._database_url = database_url
        self._log = folder / "log"
        self._stack = ExitStack()
        self._environment: dict[str, str] = {}
        self._socket = Path()
        self.origin = ""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    # Where things are

    def address(self, path: str) -> str:
        """The address of a path of the site's, as a browser has it."""
        return f"{self.origin}{self.setup.prefix}{path}"

    @property
    def admin(self) -> str:
        """The address of the admin that this row is about."""
        return self.address(self.setup.admin)

    # What became of it

    @property
    def log(self) -> str:
        """All that the site has said so far."""
        return self._log.read_text(errors="replace")

    @property
    def checks(self) -> set[str]:
        """The ids of the system checks that spoke up before it served."""
        return {*(self.folder / "checks").read_text().split()}

    @property
    def driver(self) -> str:
        """The module by which Django speaks to the database."""
        return (self.folder / "driver").read_text()

    def given(self, reference: str) -> int:
        """How often the handler gave the value for a reference: read beside the site, not by it."""
        sql = "SELECT COUNT(*) FROM goods_good WHERE reference = "
        if self._database_url:
            import psycopg

            with psycopg.connect(self._database_url) as line:
                row = line.execute(f"{sql} %s", [reference]).fetchone()
                return int(row[0]) if row else 0
        with closing(sqlite3.connect(file_of(self.folder, self.setup.database))) as file:
            return int(file.execute(f"{sql} ?", [reference]).fetchone()[0])

    def manage(self, *arguments: str) -> str:
        """Run one of the site's management commands, and return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "django", *arguments],
            cwd=ROOT,
            env={
                **self._environment,
                "SETUP_ORIGIN": self.origin,
                "DJANGO_SETTINGS_MODULE": "tests.integration.setups.project.settings",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
        return done.stdout

    # How it is started

    def _start(self, stack: ExitStack) -> None:
        proxy = None
        if self.setup.proxy or self.setup.server == "gunicorn":
            proxy = stack.enter_context(Proxy(kind=self.setup.proxy, prefix=self.setup.prefix))
        # In a folder of its own: the whole path of a unix socket has room for a hundred letters.
        self._socket = Path(stack.enter_context(TemporaryDirectory(prefix="pp-"))) / "site"
        self._environment = {
            **os.environ,
            "SETUP": self.setup.name,
            "SETUP_FOLDER": str(self.folder),
            "SETUP_SERVICE": self.sandbox.base_url.removesuffix("/api"),
            "SETUP_DATABASE_URL": self._database_url,
            "DJANGO_SETTINGS_MODULE": "tests.integration.setups.project.settings",
            "SETUP_SOCKET": str(self._socket),
            "PYTHONUNBUFFERED": "1",
        } | ({"SETUP_ORIGIN": proxy.origin} if proxy else {})
        with self._log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.setups.project.serve"],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        stack.callback(_end, process)
        behind = self._wait(process)
        self.origin = proxy.origin if proxy else str(behind)
        if proxy:
            proxy.leads_to = behind

    def _wait(self, process: "subprocess.Popen[bytes]") -> Path | str:
        """Wait until it listens, and return where: an address, or a unix socket."""
        port = self.folder / "port"
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            assert process.poll() is None, f"the site ended by itself:\n{self.log}"
            if self.setup.server == "gunicorn" and _listens(self._socket):
                return self._socket
            if self.setup.server != "gunicorn" and port.exists():
                return f"http://127.0.0.1:{port.read_text()}"
            time.sleep(0.05)
        raise AssertionError(f"the site does not listen:\n{self.log}")


def _listens(sock: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return sock.exists() and probe.connect_ex(str(sock)) == 0


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
