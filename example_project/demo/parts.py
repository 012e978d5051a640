"""Start the demo's processes, watch them, and stop them all."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

import requests

__all__ = ["MANAGE", "ROOT", "Part", "PartDiedError", "Parts", "interruptible"]

ROOT = Path(__file__).resolve().parent.parent.parent
MANAGE = str(ROOT / "manage.py")


class PartDiedError(Exception):
    """Say which process ended by itself, with the end of what it printed."""


@dataclass(frozen=True, slots=True)
class Part:
    """Be one running process and the file that holds what it prints."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def require_alive(self) -> None:
        """Raise `PartDiedError` if the process has ended."""
        code = self.process.poll()
        if code is not None:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
            raise PartDiedError(f"The {self.name} ended by itself (exit {code}). It said:\n{tail}")


class Parts:
    """Own the processes: leaving the `with` block stops them, the last one first."""

    def __init__(self, *, environment: Mapping[str, str], logs: Path) -> None:
        self._environment = {**os.environ, **environment, "PYTHONUNBUFFERED": "1"}
        self._logs = logs
        self._parts: list[Part] = []

    def __enter__(self) -> Self:
        self._logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._parts:
            self.stop(self._parts[-1])

    def start(self, name: str, arguments: Sequence[str]) -> Part:
        """Run Python with `arguments`, in a session of its own.

        A Ctrl-C in the terminal reaches this process alone, which then stops the others in order.
        """
        log = self._logs / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        part = Part(name, process, log)
        self._parts.append(part)
        return part

    def stop(self, part: Part, *, grace: float = 5) -> None:
        """Ask a process to end; kill it if it has not after `grace` seconds."""
        self._parts.remove(part)
        part.process.terminate()
        try:
            part.process.wait(grace)
        except subprocess.TimeoutExpired:
            part.process.kill()
            part.process.wait()

    def wait_until_answers(self, part: Part, url: str, *, seconds: float = 30) -> None:
        """Wait until `url` answers 200; raise `PartDiedError` if the process ends or never answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            part.require_alive()
            with contextlib.suppress(requests.RequestException):
                if requests.get(url, timeout=5).status_code == 200:
                    return
            time.sleep(0.1)
        raise PartDiedError(
            f"The {part.name} did not answer at {url} within {seconds:.0f} seconds."
        )

    def watch(self) -> None:
        """Stay until a process ends by itself; raise `PartDiedError` then."""
        while True:
            for part in self._parts:
                part.require_alive()
            time.sleep(0.5)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into `KeyboardInterrupt` inside the block: one way to stop."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        # Whoever started us under nohup wants no end at the hang-up.
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
