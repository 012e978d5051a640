"""Send references through Django's own tasks: `NUDGE` is "payments_pages.tasks.nudge".

Any backend will do that hands the task to another process; the site names it in `TASKS`. Django
has tasks from 6.0 on; Django 5.2 needs the backport (extra `tasks`).
"""

from collections.abc import Callable
from typing import Any

from payments_pages.confirmation import take_message
from payments_pages.exceptions import ConfigurationError

# Optional: Celery, for one, looks for a module of this name in every app and must be able to load
# it where there is no Django task to be had.
as_task: Any
try:
    from django.tasks import task as as_task
except ImportError:
    try:
        from django_tasks import task as as_task
    except ImportError:
        as_task = None

__all__ = ["nudge", "take_reference"]


def _task(function: Callable[[str], None]) -> Any:
    return as_task(function) if as_task else function


@_task
def take_reference(reference: str) -> None:
    """Take one reference through the path; the engine keeps no result of it."""
    take_message(reference)


def nudge(reference: str) -> None:
    """Enqueue one reference. Raise `ConfigurationError` where Django has no tasks.

    A backend on the database itself, such as django-tasks-db, needs no limit of its own: where
    the database does not answer there was no commit to tell about. For one that talks to a
    broker set its timeouts in `TASKS`.
    """
    if as_task is None:
        raise ConfigurationError("payments_pages.tasks needs Django 6.0, or django-tasks.")
    take_reference.enqueue(reference)
