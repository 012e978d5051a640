"""Choose who delivers: the door itself, or a worker on one of two queues."""

import sys
from typing import Any

__all__ = ["ENGINES", "apps", "keys", "worker_command"]

ENGINES = ("inline", "tasks", "celery")


def keys(engine: str) -> dict[str, Any]:
    """Return what `PAYMENTS_PAGES` holds for an engine. Raise `ValueError` for one unknown."""
    nudges = {
        "tasks": "payments_pages.tasks.nudge",
        # Through a module of this project's, which makes the Celery app first.
        "celery": "example_project.celery.nudge",
    }
    if engine not in ENGINES:
        raise ValueError(f"SHOP_DELIVERY must be one of {', '.join(ENGINES)}.")
    return {"DELIVERY": "queued", "NUDGE": nudges[engine]} if engine in nudges else {}


def apps(engine: str) -> list[str]:
    """Return the apps that an engine adds: the queue in the shop's own database is one."""
    return ["django_tasks_db"] if engine == "tasks" else []


def worker_command(engine: str, manage: str) -> list[str] | None:
    """Return the arguments that make Python an engine's worker; None where there is none.

    `manage` is the path of this project's manage.py.
    """
    if engine == "tasks":
        return [manage, "db_worker"]
    if engine == "celery":
        # Prefork needs fork(); a shop this small is served by threads everywhere.
        pool = ["--pool", "threads"] if sys.platform == "win32" else []
        return ["-m", "celery", "-A", "example_project.celery", "worker", *pool]
    return None
