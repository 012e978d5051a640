"""Django's own tasks, on the database backend and its real worker."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import django
import pytest
from django.core.management import call_command
from django.utils.module_loading import import_string

from payments_pages import tasks
from payments_pages.choices import Outcome
from payments_pages.confirmation import sweep_due
from payments_pages.exceptions import ConfigurationError
from payments_pages.models import Fulfilment
from payments_pages.testing import let_time_pass
from tests.integration.queues.counting import delivered, goods_once
from tests.integration.queues.workers import ROOT, Crew

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.queue("tasks"),
    pytest.mark.timeout(600),
]

WORKER = ["django", "db_worker", "--interval", "0.05", "--no-startup-delay"]


def statuses() -> list[str]:
    """The engine's own opinion of its tasks."""
    from django_tasks_db.models import DBTaskResult

    return sorted(DBTaskResult.objects.values_list("status", flat=True))


def test_a_message_holds_the_reference_and_nothing_else(pay_many: Callable[..., Any]) -> None:
    from django_tasks_db.models import DBTaskResult

    (reference,) = pay_many(1, engine="tasks")
    row = DBTaskResult.objects.get()
    assert row.args_kwargs == {"args": [reference], "kwargs": {}}
    assert import_string(row.task_path) is tasks.take_reference


def test_the_shipped_worker_delivers(pay_many: Callable[..., Any]) -> None:
    references = pay_many(3, engine="tasks")
    assert delivered() == 0
    call_command("db_worker", batch=True, interval=0, startup_delay=False, verbosity=0)
    assert goods_once(references)
    assert {text.upper() for text in statuses()} <= {"SUCCESSFUL", "SUCCEEDED"}


def test_killed_workers_leave_tasks_behind_and_the_sweep_delivers_them_once(
    pay_many: Callable[..., Any], child_environment: Callable[[], dict[str, str]]
) -> None:
    """The engine never comes back to what a dead worker had taken."""
    references = pay_many(
        4, engine="tasks", HANDLER="tests.support.goods.handlers.die_first", LEASE=30
    )
    with Crew(WORKER, child_environment()) as crew:
        for _number in references:
            crew.start()
            crew.wait_for_death(seconds=150)
    assert delivered() == 0
    assert [text.upper() for text in statuses()] == ["RUNNING"] * len(references)
    let_time_pass(60)
    assert sweep_due().outcomes == {Outcome.DELIVERED: len(references)}
    assert goods_once(references)
    assert set(Fulfilment.objects.values_list("attempts", flat=True)) == {2}


def test_django_s_own_tasks_are_used_where_it_has_them_and_the_backport_where_not() -> None:
    home = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
    for used in (tasks.as_task, type(tasks.take_reference)):
        assert used.__module__.split(".")[: home.count(".") + 1] == home.split("."), used


def test_other_queues_can_load_the_module_where_django_has_no_tasks() -> None:
    """Celery looks for a module of this name in every app."""
    code = (
        "import sys; sys.modules['django.tasks'] = sys.modules['django_tasks'] = None\n"
        "from django.conf import settings; settings.configure(INSTALLED_APPS=['payments_pages'])\n"
        "import django; django.setup(); from payments_pages import tasks; assert not tasks.as_task"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_where_django_has_no_tasks_sending_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "as_task", None)
    with pytest.raises(ConfigurationError):
        tasks.nudge("PPG-1")
