"""Let many confirm one payment at the same moment: payers' browsers and staff's commands."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import requests

from example_project.demo.parts import MANAGE

__all__ = ["Answers", "confirm_at_once"]

_TIMEOUT = 60


@dataclass(slots=True)
class Answers:
    """Count what came back: HTTP status codes, exit codes of commands, and what went wrong."""

    statuses: Counter[int] = field(default_factory=Counter)
    exits: Counter[int] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Return how many answered."""
        return self.statuses.total() + self.exits.total()


def confirm_at_once(
    callback: str,
    reference: str,
    *,
    browsers: int,
    commands: int,
    environment: Mapping[str, str],
) -> Answers:
    """Open the callback in `browsers` threads and run the command in `commands` processes.

    The processes start first, for they take longest to get going; every thread then leaves from
    the same line. Returns when all have answered.
    """
    answers = Answers()
    lock = threading.Lock()
    line = threading.Barrier(browsers)
    processes = [
        subprocess.Popen(
            [sys.executable, MANAGE, "payments_pages_confirm", reference],
            env={**environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(commands)
    ]

    def browse() -> None:
        line.wait()
        with requests.Session() as session:
            session.trust_env = False
            try:
                answer = session.get(callback, allow_redirects=False, timeout=_TIMEOUT)
            except requests.RequestException as error:
                with lock:
                    answers.troubles.append(f"callback: {type(error).__name__}")
                return
        with lock:
            answers.statuses[answer.status_code] += 1

    _run_all([browse] * browsers)
    for process in processes:
        output, _ = process.communicate(timeout=_TIMEOUT)
        answers.exits[process.returncode] += 1
        if process.returncode:
            answers.troubles.append(f"payments_pages_confirm: {output.strip()[-500:]}")
    return answers


def _run_all(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=function) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
