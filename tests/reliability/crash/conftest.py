"""Fixtures: the scene of the stories, and a process that may be killed."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from payments_pages.confirmation import rivals
from payments_pages.models import PaymentPage
from payments_pages.sandbox import Sandbox
from tests.reliability.crash.stories import Scene
from tests.reliability.races.worker import Worker


@pytest.fixture(scope="package")
def mortal(django_db_setup: None) -> Iterator[Worker]:
    worker = Worker(str(connection.settings_dict["NAME"]), "tests.reliability.crash.jobs")
    yield worker
    worker.end()


@pytest.fixture(autouse=True)
def open_file(transactional_db: None) -> Iterator[None]:
    """Keep a connection open: to close the last connection to an SQLite file waits for the disk."""
    holder = connection.copy()
    holder.ensure_connection()
    yield
    holder.close()


@pytest.fixture
def scene(
    transactional_db: None,
    tea_box: PaymentPage,
    sandbox: Sandbox,
    configure: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Scene:
    """Callers do not wait for a rival, because the rival is dead."""
    monkeypatch.setattr(rivals, "RIVAL_PATIENCE", 0.0)
    return Scene(sandbox, tea_box, configure)
