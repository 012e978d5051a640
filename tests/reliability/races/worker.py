"""Run jobs in processes of their own.

All processes are forks of one that has loaded Django and the jobs, and each job runs in a fork of
its process, which holds no connection and no thread: a job may be killed, and costs little.
"""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, Final

import django
from django.conf import settings

__all__ = ["Worker"]

Job = dict[str, Any]

JOBS: Final = ("tests.reliability.races.jobs", "tests.reliability.crash.jobs")
_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.reliability.races.preload"])


class Worker:
    """One process that runs jobs on the test database `database`, by the `run` of a module of `JOBS`."""

    def __init__(self, database: str, jobs: str) -> None:
        self._line, far_end = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(database, jobs, far_end), daemon=True)
        self._process.start()
        far_end.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def begin(self, job: Job) -> None:
        self._line.send({**job, "settings": {**settings.PAYMENTS_PAGES, **job.get("settings", {})}})

    def finish(self) -> dict[str, Any]:
        """Return the job's `rows`, and by which signal it was `killed`, or 0."""
        answer: dict[str, Any] = self._line.recv()
        return answer

    def run(self, **job: Any) -> dict[str, Any]:
        self.begin(job)
        return self.finish()

    def end(self) -> None:
        self._line.close()
        self._process.join(timeout=30)
        self._process.close()


def load() -> None:
    """Load Django, then the jobs: the models must be there first."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.support.settings")
    django.setup()
    for module in JOBS:
        import_module(module)


def _serve(database: str, jobs: str, line: "Connection[Any, Any]") -> None:
    """Do one job after the other until the other end of the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load()
    settings.DATABASES["default"]["NAME"] = database
    run = import_module(jobs).run
    while True:
        try:
            job = line.recv()
        except EOFError:
            return
        near, far = _CONTEXT.Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            near.close()
            _work(run, job, far)
        far.close()
        try:
            rows = near.recv()
        except (EOFError, OSError):  # it was killed, perhaps while it sent them, or failed
            rows = []
        near.close()
        _pid, status = os.waitpid(pid, 0)
        line.send({"rows": rows, "killed": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0})


def _work(run: Callable[[Job], list[Any]], job: Job, rows: "Connection[Any, Any]") -> None:
    """Do one job and end this process, whatever happens."""
    try:
        settings.PAYMENTS_PAGES = {**settings.PAYMENTS_PAGES, **job["settings"]}
        rows.send(run(job))
    except Exception:  # noqa: BLE001 - the parent sees no rows, and people the reason
        traceback.print_exc()
    finally:
        os._exit(0)
