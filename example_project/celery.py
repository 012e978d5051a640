"""Make the shop's Celery app: `NUDGE` names `nudge` here, and workers start with `-A` this module.

celery -A example_project.celery worker
celery -A example_project.celery beat
"""

import os

from celery import Celery  # type: ignore[import-untyped]  # ships no types

__all__ = ["app", "nudge"]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")

app = Celery("example_project")
app.config_from_object("django.conf:settings", namespace="CELERY")
# For all threads: a server answers payers in many, and Celery keeps its current app by thread.
app.set_default()

from payments_pages.celery import beat_entry, nudge  # noqa: E402 - its tasks go to the app above

# Beside payments_pages_sweep, not in its place: a dead broker stops this one.
app.conf.beat_schedule = beat_entry(60)
