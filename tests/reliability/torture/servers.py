"""Start, kill and restart a database server of the run's own, with its data in the run's folder."""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Protocol

from example_project.demo.addresses import free_port

__all__ = ["Missing", "Server", "server_for"]

READY_WITHIN = 60.0


class Missing(RuntimeError):
    """Say which program of a database server is not on this machine."""


class Server(Protocol):
    """A database that can be killed."""

    kills: int

    def start(self) -> None:
        """Start, or start again after a kill, and wait until it answers."""

    def kill(self) -> None:
        """Kill it and all its processes with SIGKILL."""

    def stop(self) -> None:
        """End it for good."""

    @property
    def settings(self) -> dict[str, Any]:
        """Give Django's settings for it."""


def server_for(name: str, folder: Path) -> Server:
    """Make the server of a name, not started; raise `Missing` where its programs are not."""
    kinds: dict[str, Any] = {"sqlite": _Sqlite, "postgresql": _Postgresql, "mariadb": _Mariadb}
    server: Server = kinds[name](folder)
    return server


class _Sqlite:
    """A file: there is no server that could be killed, only the processes that write."""

    kills = 0

    def __init__(self, folder: Path) -> None:
        self._path = folder / "tests.reliability.torture.sqlite3"

    def start(self) -> None:
        """Do nothing: opening the file is enough."""

    kill = stop = start

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(self._path),
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }


class _Process:
    """A server process on a free port of 127.0.0.1, as a user who is not root."""

    user = ""

    def __init__(self, folder: Path) -> None:
        self.kills = 0
        self.port = free_port()
        self.data = folder / "data"
        self.data.mkdir()
        self._log = (folder / "server.log").open("ab")
        self._process: subprocess.Popen[bytes] | None = None
        self._as_user: dict[str, Any] = {}
        if os.getuid() == 0:
            who = pwd.getpwnam(self.user)
            os.chown(self.data, who.pw_uid, who.pw_gid)
            self._as_user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        self.prepare()

    def prepare(self) -> None:
        """Make the data folder."""
        raise NotImplementedError

    def command(self) -> list[str]:
        """Name the program that serves it."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Try to log in."""
        raise NotImplementedError

    def run(self, *command: str) -> None:
        """Run a program to its end; raise with its words if it fails."""
        done = subprocess.run(
            command, **self._as_user, capture_output=True, check=False, cwd=self.data
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed: {done.stderr.decode(errors='replace')}")

    def start(self) -> None:
        give_up = time.monotonic() + READY_WITHIN
        while True:
            self._process = subprocess.Popen(
                self.command(),
                **self._as_user,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                cwd=self.data,
            )
            while self._process.poll() is None:
                if self.answers():
                    return
                if time.monotonic() > give_up:
                    raise RuntimeError(f"{self.command()[0]} does not answer: see server.log")
                time.sleep(0.05)
            # What was killed may hold its lock for a moment.
            if time.monotonic() > give_up:
                raise RuntimeError(f"{self.command()[0]} does not start: see server.log")
            time.sleep(0.2)

    def kill(self) -> None:
        self._end(signal.SIGKILL)
        self.kills += 1

    def stop(self) -> None:
        self._end(signal.SIGKILL)
        self._log.close()

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        pid = self._process.pid
        children = _children(pid)
        os.kill(pid, number)
        for child in children:
            # They end by themselves when the parent is gone; some have already.
            try:
                os.kill(child, number)
            except ProcessLookupError:
                continue
        self._process.wait()
        self._process = None


class _Postgresql(_Process):
    user = "postgres"

    def prepare(self) -> None:
        self.data.chmod(0o700)
        self.run(
            _program("initdb"), "-D", str(self.data), "-U", "torture", "-A", "trust", "-E", "UTF8"
        )

    def command(self) -> list[str]:
        return [
            _program("postgres"), "-D", str(self.data), "-p", str(self.port),
            "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
        ]  # fmt: skip

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(
                host="127.0.0.1", port=self.port, user="torture", dbname="postgres"
            ).close()
        except psycopg.Error:
            return False
        return True

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "postgres",
            "USER": "torture",
            "HOST": "127.0.0.1",
            "PORT": self.port,
            "OPTIONS": {"connect_timeout": 3},
        }


class _Mariadb(_Process):
    user = "mysql"

    def prepare(self) -> None:
        self.run(
            _program("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}",
            "--auth-root-authentication-method=normal", "--skip-test-db",
        )  # fmt: skip

    def command(self) -> list[str]:
        return [
            _program("mariadbd"), "--no-defaults", f"--datadir={self.data}",
            f"--port={self.port}", "--bind-address=127.0.0.1",
            f"--socket={self.data}/socket", f"--pid-file={self.data}/pid",
        ]  # fmt: skip

    def answers(self) -> bool:
        import MySQLdb

        try:
            line = MySQLdb.connect(host="127.0.0.1", port=self.port, user="root")
            cursor = line.cursor()
            cursor.execute("CREATE DATABASE IF NOT EXISTS torture CHARACTER SET utf8mb4")
            line.close()
        except MySQLdb.Error:
            return False
        return True

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "ENGINE": "django.db.backends.mysql",
            "NAME": "torture",
            "USER": "root",
            "HOST": "127.0.0.1",
            "PORT": self.port,
            "OPTIONS": {"charset": "utf8mb4", "connect_timeout": 3},
        }


def _program(name: str) -> str:
    """Find a server's program on PATH, or where Debian keeps PostgreSQL's."""
    places = [*sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True), "/usr/sbin"]  # noqa: PTH207 - a pattern of absolute paths
    found = shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    if found is None:
        raise Missing(f"There is no {name} on this machine: install the database's server package.")
    return found


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except FileNotFoundError:
        return []
    return [int(number) for number in text.split()]
