"""Projects in a folder of their own, which other processes run."""

import os
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import requests

__all__ = ["Programs", "environment", "free_port", "run", "wait_for"]

OURS = {"PYTHONPATH", "DJANGO_SETTINGS_MODULE", "DATABASE_URL"}


def environment(**more: str) -> dict[str, str]:
    """Return the environment without what is this suite's own."""
    return {**{k: v for k, v in os.environ.items() if k not in OURS}, **more}


def run(*command: str | Path, cwd: Path, **more: str) -> str:
    """Run a command to its end, and return what it printed; fail unless it succeeded."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment(**more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


class Programs(ExitStack):
    """What a user runs in terminals of their own; `logs` has a file for each."""

    def __init__(self, folder: Path, *, logs: Path, **more: str) -> None:
        super().__init__()
        self.folder, self.logs, self.environment = folder, logs, environment(**more)
        logs.mkdir(exist_ok=True)

    def start(self, *command: str) -> None:
        log = self.enter_context((self.logs / f"{len(list(self.logs.iterdir()))}.log").open("w"))
        program = subprocess.Popen(
            command, cwd=self.folder, stdout=log, stderr=log, env=self.environment
        )
        self.callback(program.wait, 20)
        self.callback(program.terminate)


def wait_for(url: str) -> None:
    for _time in range(300):
        try:
            requests.head(url, timeout=5)
        except requests.ConnectionError:
            time.sleep(0.3)
        else:
            return
    raise AssertionError(f"nothing answers at {url}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
