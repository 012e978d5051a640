"""Checks of how deliveries are made: in one transaction or not, in the request or by a worker."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name
from django.utils.module_loading import import_string

from payments_pages.conf import DELIVERIES, conf

__all__ = ["check_delivery", "check_tasks"]

_TASKS_NUDGE = "payments_pages.tasks.nudge"
_NOT_QUEUES = (".ImmediateBackend", ".DummyBackend")


@register(Tags.compatibility)
def check_delivery(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E020: HANDLER_ATOMIC is no bool. E021: DELIVERY is unknown. E022: NUDGE is missing or not callable."""
    messages: list[CheckMessage] = []
    if not isinstance(conf.get("HANDLER_ATOMIC", True), bool):
        hint = '"HANDLER_ATOMIC": False, for a handler that calls other systems'
        messages.append(
            Error(
                "PAYMENTS_PAGES['HANDLER_ATOMIC'] is neither True nor False.",
                hint=hint,
                id="payments_pages.E020",
            )
        )
    delivery = conf.get("DELIVERY", "inline")
    if delivery not in DELIVERIES:
        hint = '"DELIVERY": "inline" or "queued"'
        messages.append(
            Error("PAYMENTS_PAGES['DELIVERY'] is unknown.", hint=hint, id="payments_pages.E021")
        )
    complaint = _nudge_complaint(conf.get("NUDGE"), needed=delivery == "queued")
    if complaint:
        hint = f'"NUDGE": "{_TASKS_NUDGE}", or "payments_pages.celery.nudge"'
        messages.append(
            Error(f"PAYMENTS_PAGES['NUDGE'] {complaint}", hint=hint, id="payments_pages.E022")
        )
    return messages


def _nudge_complaint(path: object, *, needed: bool) -> str:
    if not path:
        return 'is missing: DELIVERY is "queued".' if needed else ""
    try:
        nudge = import_string(str(path))
    except ImportError as failure:
        return f"cannot be imported: {failure}"
    return "" if callable(nudge) else "is not callable."


@register(Tags.compatibility)
def check_tasks(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W005: the backend in TASKS is no queue."""
    queued = conf.get("DELIVERY") == "queued" and conf.get("NUDGE") == _TASKS_NUDGE
    if not queued or settings.DEBUG:
        return []
    tasks = getattr(settings, "TASKS", {})
    backend = tasks.get("default", {}).get("BACKEND", _NOT_QUEUES[0])
    if not str(backend).endswith(_NOT_QUEUES):
        return []
    hint = 'TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}'
    message = "TASKS names a backend that runs tasks in the request, or never."
    return [Warning(message, hint=hint, id="payments_pages.W005")]
