"""Lines of Django's own history of the admin, which everybody reads in their own language.

Django stores a message as JSON, and translates on reading the names of fields and of kinds of
objects in it. So our lines are of its form, and each name in them is marked for translation.
"""

import json
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest

__all__ = ["HistoryMessage", "changed", "log_entry", "made", "removed"]

HistoryMessage = list[dict[str, Any]]
"""A message as Django stores its own."""


def changed(*names: str) -> HistoryMessage:
    """Say "Changed …" of these names, which are marked for translation."""
    return [{"changed": {"fields": list(names)}}]


def made(name: str, told: str) -> HistoryMessage:
    """Say "Added … “told”" of a name that is marked for translation."""
    return [{"added": {"name": name, "object": told}}]


def removed(name: str, told: str) -> HistoryMessage:
    """Say "Deleted … “told”" of a name that is marked for translation."""
    return [{"deleted": {"name": name, "object": told}}]


def log_entry(
    request: HttpRequest,
    model: type[Model],
    message: HistoryMessage,
    *,
    named: str,
    pk: object = None,
    flag: int = CHANGE,
) -> None:
    """Write a line about a row that is gone, or about many rows.

    `named` is not translated by anybody: it is a name, an address or the name of a file.
    """
    person: Any = request.user.pk
    LogEntry.objects.create(
        user_id=person,
        content_type=ContentType.objects.get_for_model(model),
        object_id=None if pk is None else str(pk),
        object_repr=named[:200],
        action_flag=flag,
        change_message=json.dumps(message),
    )
