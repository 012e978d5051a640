"""Start, kill and replace real worker processes on the test's own database."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

__all__ = ["ROOT", "Crew", "wait_until"]

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def wait_until(true: Callable[[], bool], *, seconds: float) -> bool:
    """Wait until something is true; say whether it became so in time."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        if true():
            return True
        time.sleep(0.05)
    return true()


class Crew:
    """Workers of one command; each in a session of its own, so that its children die with it.

    "{number}" in the command becomes the worker's own number and something unique.
    """

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._command = [sys.executable, "-m", *command]
        self._environment = environment
        self._started = 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def start(self, count: int = 1) -> None:
        for _one in range(count):
            self._started += 1
            # A name nobody has had: RabbitMQ keeps a killed worker's own queue for a moment.
            name = f"{self._started}-{uuid4().hex[:8]}"
            command = [part.replace("{number}", name) for part in self._command]
            self._processes.append(
                subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def kill(self) -> int:
        """Kill all, children too, uncatchably; how many were still running."""
        running = [process for process in self._processes if process.poll() is None]
        for process in self._processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for process in self._processes:
            process.wait(timeout=30)
        self._processes.clear()
        return len(running)

    def retire(self) -> None:
        """Ask all to finish what they have in hand, and wait until they have gone."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(timeout=60)
        self._processes.clear()

    def wait_for_death(self, *, seconds: float) -> None:
        """Wait until all have died by themselves, of SIGKILL."""
        for process in self._processes:
            assert process.wait(timeout=seconds) == -signal.SIGKILL, self.log()
        self._processes.clear()

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def end(self) -> None:
        self.kill()
        self._log.close()
