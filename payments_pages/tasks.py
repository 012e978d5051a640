"""References sent through Django's own tasks: `NUDGE` is "payments_pages.tasks.nudge".

Use any backend that gives the task to another process; `TASKS` names it. Django has tasks from 6.0
on; Django 5.2 needs the backport (extra `tasks`).
"""

from collections.abc import Callable
from typing import Any

from payments_pages.confirmation import take_message
from payments_pages.exceptions import ConfigurationError

# Optional: Celery imports the module `tasks` of every app, also where Django has no tasks.
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
    """Take one reference through the path; the task has no result."""
    take_message(reference)


def nudge(reference: str) -> None:
    """Enqueue one reference. Raise `ConfigurationError` where Django has no tasks.

    A backend on the database, such as django-tasks-db, needs no time limit: if the database does
    not answer, nothing was committed that a worker must know of. For a backend with a broker set
    its timeouts in `TASKS`.
    """
    if as_task is None:
        raise ConfigurationError("payments_pages.tasks needs Django 6.0, or django-tasks.")
    take_reference.enqueue(reference)
