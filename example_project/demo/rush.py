"""Let many confirm one payment at the same moment: payers' browsers and staff's commands."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import requests

from example_project.demo import starter
from example_project.demo.parts import ROOT
from example_project.demo.starter import READY

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

    All get ready first and leave from the same line. Returns when all have answered.
    """
    answers = Answers()
    lock = threading.Lock()
    line = threading.Barrier(browsers + commands, timeout=_TIMEOUT)

    def browse() -> None:
        with requests.Session() as session:
            session.trust_env = False
            line.wait()
            try:
                answer = session.get(callback, allow_redirects=False, timeout=_TIMEOUT)
            except requests.RequestException as error:
                with lock:
                    answers.troubles.append(f"callback: {type(error).__name__}")
                return
        with lock:
            answers.statuses[answer.status_code] += 1

    def command() -> None:
        with _start(reference, environment) as process:
            ready = process.stdout is not None and process.stdout.readline().strip() == READY
            line.wait()
            output, _ = process.communicate("go\n", timeout=_TIMEOUT)
        with lock:
            answers.exits[process.returncode] += 1
            # 1 is an answer too: "not delivered as far as I can see", with its reason.
            if not ready or process.returncode not in {0, 1} or "Traceback" in output:
                answers.troubles.append(f"payments_pages_confirm: {output.strip()[-500:]}")

    _run_all([browse] * browsers + [command] * commands)
    return answers


def _start(reference: str, environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", starter.__name__, "payments_pages_confirm", reference],
        cwd=ROOT,
        env={**environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _run_all(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=function) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
