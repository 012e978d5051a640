"""Brokers that a test may kill: its own processes, in a folder and on ports of its own."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL
from types import TracebackType
from typing import Self

import pytest
from kombu import Connection
from kombu.exceptions import OperationalError

from example_project.demo.addresses import free_port
from tests.integration.queues.workers import wait_until

__all__ = ["OwnBroker", "own_broker"]

_PROGRAMS = {
    # Debian's wrapper on the PATH changes the user, and with it the folders.
    "rabbitmq": ("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server"),
    "redis": ("redis-server",),
}


def find_program(broker: str) -> str | None:
    """Find the server of a kind of broker; None where it is not installed."""
    found = (shutil.which(program) for program in _PROGRAMS[broker])
    return next((path for path in found if path), None)


def own_broker(broker: str, folder: Path) -> "OwnBroker":
    """Make a broker; leave the test out where its server is not installed, unless it must run."""
    if find_program(broker) is None and os.environ.get("REQUIRE_BROKERS") != "1":
        pytest.skip(f"no server of {broker} is installed here, there is only one that answers")
    return OwnBroker(broker, folder)


class OwnBroker:
    """One broker with its data in a folder, to be started, stopped, killed and started again."""

    def __init__(self, broker: str, folder: Path) -> None:
        program = find_program(broker)
        assert program, f"no server of {broker} is installed"
        self._port = free_port()
        self._names = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        if broker == "redis":
            self.url = f"redis://127.0.0.1:{self._port}/0"
            # As it comes: a snapshot now and then, and one when it is asked to end.
            self._command = [program, "--port", str(self._port), "--dir", str(folder)]
            self._environment: Mapping[str, str] = {}
        else:
            self.url = f"amqp://guest:guest@127.0.0.1:{self._port}//"
            self._command = [program]
            self._environment = self._of_rabbitmq()

    def _of_rabbitmq(self) -> dict[str, str]:
        """Keep apart, by its own name server too, from a node that the machine runs."""
        return {
            "HOME": str(self._folder),
            # No shell in between: the process that is started is the one to kill.
            "RUNNING_UNDER_SYSTEMD": "true",
            "ERL_EPMD_PORT": str(self._names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"tests-{os.getpid()}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "data"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
        }

    def start(self) -> None:
        """Return when it answers."""
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env={**os.environ, **self._environment},
                stdin=DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        assert wait_until(self._answers, seconds=120), (self._folder / "output").read_text()

    def stop(self) -> None:
        """Ask it to end, as an orderly restart does."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it and its children uncatchably, as a machine that loses its power."""
        self._end(signal.SIGKILL)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        if self.url.startswith("amqp"):
            # Erlang's name server puts itself into a session of its own, and stays.
            subprocess.run(["epmd", "-port", str(self._names), "-kill"], check=True, stdout=DEVNULL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, number)
            self._process.wait(timeout=120)
            self._process = None

    def _answers(self) -> bool:
        """Say whether it takes clients: a port that is open may belong to one who is still loading."""
        try:
            with Connection(self.url, connect_timeout=5) as connection:
                connection.connect()
        except (OSError, OperationalError):
            return False
        return True
