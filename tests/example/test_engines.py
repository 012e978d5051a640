"""The shop delivers by itself or through either queue, as one variable says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from example_project import delivery

ROOT = Path(__file__).resolve().parent.parent.parent
LOAD = "import django; django.setup(); from payments_pages.nudging import load_nudge; load_nudge()"


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("tasks", marks=pytest.mark.queue("tasks")),
        pytest.param("celery", marks=pytest.mark.queue("celery")),
    ],
)
def test_the_shop_finds_the_sender_and_the_worker_of_its_engine(engine: str) -> None:
    environment = {
        **os.environ, "SHOP_DELIVERY": engine, "DJANGO_SETTINGS_MODULE": "example_project.settings",
    }  # fmt: skip
    subprocess.run([sys.executable, "-c", LOAD], cwd=ROOT, env=environment, check=True)
    command = delivery.worker_command(engine, "manage.py")
    assert command is not None
    subprocess.run(
        [sys.executable, *command, "--help"],
        cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def test_inline_needs_no_worker() -> None:
    assert delivery.keys("inline") == {}
    assert delivery.apps("inline") == []
    assert delivery.worker_command("inline", "manage.py") is None


def test_an_engine_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="inline, tasks, celery"):
        delivery.keys("kafka")
