"""Fixtures: a team of real processes on the test database."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PROCESSES = 8
HEAD_START = 0.3
"""Seconds for all processes to fork and connect, before all threads start at once."""


class Worker:
    """One process that runs jobs, each in a fork."""

    def __init__(self, database: str, jobs: str = "tests.reliability.races.jobs") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.reliability.races.worker", database, jobs],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self) -> None:
        assert self._output.readline() == "ready\n"

    def begin(self, job: dict[str, Any]) -> None:
        keys = {**django_settings.PAYMENTS_PAGES, **job.get("settings", {})}
        self._input.write(json.dumps({**job, "settings": keys}) + "\n")
        self._input.flush()

    def finish(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._output.readline())
        return answer

    def run(self, **job: Any) -> dict[str, Any]:
        self.begin(job)
        return self.finish()

    def end(self) -> None:
        self._input.close()
        self._process.wait(timeout=30)
        self._output.close()


class Team:
    """All workers, for jobs that start together."""

    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers

    def race(self, **job: Any) -> list[dict[str, Any]]:
        """Run a job in every process at the same moment; the rows of all threads."""
        job["start_at"] = time.time() + HEAD_START
        for worker in self.workers:
            worker.begin(job)
        return [row for worker in self.workers for row in worker.finish()["rows"]]


@pytest.fixture(scope="package")
def all_workers(django_db_setup: None) -> Iterator[list[Worker]]:
    workers = [Worker(str(connection.settings_dict["NAME"])) for _number in range(PROCESSES)]
    try:
        for worker in workers:
            worker.wait_until_ready()
        yield workers
    finally:
        for worker in workers:
            worker.end()


@pytest.fixture
def team(all_workers: list[Worker], transactional_db: None) -> Team:
    return Team(all_workers)


@pytest.fixture
def worker(all_workers: list[Worker], transactional_db: None) -> Worker:
    return all_workers[0]
