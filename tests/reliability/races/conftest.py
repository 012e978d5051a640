"""Fixtures: a team of real processes on the test database."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from tests.reliability.races.worker import Worker

PROCESSES = 8
HEAD_START = 0.3
"""Seconds for all processes to fork and connect, before all threads start at once."""


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
    name = str(connection.settings_dict["NAME"])
    workers = [Worker(name, "tests.reliability.races.jobs") for _number in range(PROCESSES)]
    yield workers
    for worker in workers:
        worker.end()


@pytest.fixture
def team(all_workers: list[Worker], transactional_db: None) -> Team:
    return Team(all_workers)


@pytest.fixture
def worker(all_workers: list[Worker], transactional_db: None) -> Worker:
    return all_workers[0]
