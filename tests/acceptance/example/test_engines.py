"""The shop delivers by itself or through either queue, as one variable says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from example_project import delivery
from tests.integration.queues.own_brokers import own_broker

ROOT = Path(__file__).resolve().parent.parent.parent.parent
LOAD = "import django; django.setup(); from payments_pages.confirmation.nudging import load_nudge; load_nudge()"


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


def buy_once(engine: str, folder: Path, **variables: str) -> str:
    """Run the demo's own purchase: on ports it finds free, in a folder and a database of its own."""
    environment = {
        **os.environ, "SHOP_DELIVERY": engine, "TMPDIR": str(folder), "DATABASE_URL": "",
        "SECRET_KEY": "only for tests", **variables,
    }  # fmt: skip
    environment.pop("DJANGO_SETTINGS_MODULE", None)  # the suite's own
    done = subprocess.run(
        [sys.executable, "manage.py", "demo", "--once"],
        cwd=ROOT, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(folder.glob("demo-*")), "it removes what it made"
    return done.stdout


@pytest.mark.queue("tasks")
def test_the_demo_buys_once_through_django_s_tasks(tmp_path: Path) -> None:
    assert "delivered exactly once" in buy_once("tasks", tmp_path)


@pytest.mark.queue("redis")
def test_the_demo_buys_once_through_celery(tmp_path: Path) -> None:
    """On a broker of its own: the shop's queue has one name, and another run would take from it."""
    (tmp_path / "broker").mkdir()
    with own_broker("redis", tmp_path / "broker") as broker:
        said = buy_once("celery", tmp_path, CELERY_BROKER_URL=broker.url)
    assert "delivered exactly once" in said


def test_inline_needs_no_worker() -> None:
    assert delivery.keys("inline") == {}
    assert delivery.apps("inline") == []
    assert delivery.worker_command("inline", "manage.py") is None


def test_an_engine_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="inline, tasks, celery"):
        delivery.keys("kafka")
