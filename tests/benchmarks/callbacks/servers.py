"""Start and stop what a run needs: the answerer, and a site with its database under gunicorn."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gunicorn

from example_project.demo.addresses import free_port
from tests.benchmarks.callbacks.answerer import PLACE

__all__ = [
    "PROCESSES",
    "ROOT",
    "THREADS",
    "Answers",
    "Site",
    "answering",
    "environment",
    "recorded",
    "serving",
]

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PROCESSES, THREADS = 2, 6
"""Each thread of each site keeps a connection: seven sites must fit the 100 of a PostgreSQL server."""
# Gunicorn 25 and newer would put a socket of its own into the home folder.
_QUIET = ("--no-control-socket",) if gunicorn.version_info >= (25,) else ()


@dataclass(slots=True)
class Answers:
    """Be the running answerer."""

    url: str

    def counts(self) -> dict[str, Any]:
        """Return calls by reference and new connections since the last time."""
        return self._get("counts")

    def hang(self) -> None:
        """Answer no verify call from now on."""
        self._get("hang")

    def _get(self, name: str) -> dict[str, Any]:
        root = self.url.removesuffix("/api")
        with urllib.request.urlopen(f"{root}/{name}", timeout=10) as response:
            found: dict[str, Any] = json.load(response)
        return found


@dataclass(slots=True)
class Site:
    """Be one site: its module, the Python that has what it needs, and its environment.

    `callbacks`: payers come back to it. `query` is the address that answers after one query,
    `webhook` the one that events are sent to, signed with `signature`. The rest is known when it
    runs.
    """

    name: str
    module: str
    python: str = sys.executable
    callbacks: bool = True
    query: str = ""
    webhook: str = ""
    signature: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    port: int = 0
    pids: tuple[int, ...] = ()
    callback: str = ""
    result: str = ""
    plan: Any = None

    def run(self, command: str, references: Sequence[str]) -> Any:
        """Run a command of `tests.benchmarks.callbacks.site`, and return what it says."""
        done = subprocess.run(
            [self.python, "-m", "tests.benchmarks.callbacks.site", command],
            input="\n".join(references),
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=ROOT,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self.name}, {command}: {done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])

    def cpu(self) -> float:
        """Return the seconds of CPU that its processes have used, all threads, user and system."""
        # The clock of another process, as clock_getcpuclockid(3) makes its number.
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in self.pids)


@contextmanager
def answering(answer: bytes) -> Iterator[Answers]:
    """Run the answerer with one recorded answer."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.callbacks.answerer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(answer)
    process.stdin.close()
    try:
        yield Answers(f"http://127.0.0.1:{int(process.stdout.readline())}/api")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextmanager
def serving(
    site: Site, log: Path, *, processes: int = PROCESSES, threads: int = THREADS
) -> Iterator[None]:
    """Run a prepared site under gunicorn, from when all its processes answer."""
    site.port = free_port()
    command = [site.python, "-m", "gunicorn", "tests.benchmarks.callbacks.site.wsgi:application"]
    command += ["--bind", f"127.0.0.1:{site.port}", "--workers", str(processes)]
    command += ["--threads", str(threads), "--worker-class", "gthread", "--keep-alive", "60"]
    command += ["--log-level", "error", *_QUIET]
    with log.open("ab") as file:
        process = subprocess.Popen(command, env=site.environment, cwd=ROOT, stderr=file)
    try:
        site.pids = _children(process, log, processes)
        yield
    finally:
        process.terminate()
        process.wait()


def environment(module: str, answers: Answers, database: dict[str, Any]) -> dict[str, str]:
    """Build a site's environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO_")}
    return kept | {
        "BENCH_SITE": module,
        "BENCH_DATABASE": json.dumps(database),
        "BENCH_SERVICE": answers.url,
        "DJANGO_SETTINGS_MODULE": "tests.benchmarks.callbacks.site.settings",
    }


def _children(process: "subprocess.Popen[bytes]", log: Path, count: int) -> tuple[int, ...]:
    give_up = time.monotonic() + 60
    place = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while time.monotonic() < give_up:
        if process.poll() is not None:
            raise RuntimeError(f"gunicorn ended: {log.read_text()[-2000:]}")
        found = tuple(int(pid) for pid in place.read_text().split())
        if len(found) == count:
            return found
        time.sleep(0.05)
    raise RuntimeError("gunicorn did not start")


def recorded(answer: bytes, reference: str) -> bytes:
    """Return an answer of the sandbox with a place for the reference."""
    assert reference.encode() in answer
    return answer.replace(reference.encode(), PLACE)
