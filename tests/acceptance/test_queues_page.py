"""docs/queues.md: deliveries that are left to the workers of a queue."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from payments_pages.choices import Door, Outcome
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Fulfilment, PaymentPage
from payments_pages.sandbox import Sandbox
from tests.support.projects import run
from tests.support.snippets import ROOT, page_text, run_snippet, snippet

PAGE = "queues.md"


@pytest.mark.queue("tasks")
@pytest.mark.django_db(transaction=True)
def test_the_snippet_for_django_s_tasks_leaves_deliveries_to_the_worker_it_names(
    tea_box: PaymentPage, sandbox: Sandbox, settings: Any
) -> None:
    names: dict[str, Any] = {
        "PAYMENTS_PAGES": dict(settings.PAYMENTS_PAGES),
        "INSTALLED_APPS": [],
    }
    names = run_snippet(PAGE, "tasks", **names)
    assert set(names["INSTALLED_APPS"]) <= set(settings.INSTALLED_APPS)
    settings.TASKS, settings.PAYMENTS_PAGES = names["TASKS"], names["PAYMENTS_PAGES"]
    reference = sandbox.pay("tea-box")
    found = confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    assert found.outcome is Outcome.DELIVERING
    (worker,) = set(re.findall(r"`manage\.py\s(\w*worker)`", page_text(PAGE)))
    call_command(worker, batch=True, interval=0, startup_delay=False, verbosity=0)
    assert Fulfilment.objects.get().state == "delivered"


CELERY_SITE = """
import threading
import django
import shop
django.setup()
from celery import current_app
from payments_pages.celery import nudge
apps = []
def door():
    apps.append(current_app._get_current_object())
    nudge("PPG-1")
thread = threading.Thread(target=door)
thread.start()
thread.join()
from shop.celery import app
assert apps == [app], apps
with app.connection_for_read() as connection:
    message = connection.SimpleQueue(app.conf.task_default_queue).get(timeout=1)
app.loader.import_default_modules()
(entry,) = app.conf.beat_schedule.values()
assert {message.headers["task"], entry["task"]} <= set(app.tasks), entry
assert (message.payload[0], entry["schedule"]) == (["PPG-1"], 60)
"""


@pytest.mark.queue("celery")
def test_the_snippet_for_celery_makes_an_app_that_doors_workers_and_beat_know(
    tmp_path: Path,
) -> None:
    """Imported as the page says, by the package of the settings."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "celery.py").write_text(snippet(PAGE, "celery.py"))
    (line,) = re.findall(r"`(from shop\.celery import app)`", page_text(PAGE))
    (shop / "__init__.py").write_text(line)
    (shop / "settings.py").write_text("from tests.support.settings import *")
    (tmp_path / "door.py").write_text(CELERY_SITE)
    names = {"CELERY_BROKER_URL": "memory://", "PYTHONPATH": str(ROOT)}
    run(sys.executable, "door.py", cwd=tmp_path, **names)
