"""Checks of the settings of the databases."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name

__all__ = ["check_database"]

_HAS_ZONES = ("postgresql", "postgis")


@register(Tags.compatibility)
def check_database(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W003: SQLite without IMMEDIATE transactions. E024: USE_TZ is off. E040: a TIME_ZONE.

    Reads settings only. A database with a TIME_ZONE of its own stores local times, except
    PostgreSQL: what its own clock wrote would be hours away from what Django wrote.
    """
    messages: list[CheckMessage] = []
    if not settings.USE_TZ:
        message = "The service's times have time zones, which cannot be stored with USE_TZ off."
        messages.append(Error(message, hint="USE_TZ = True", id="payments_pages.E024"))
    for alias, database in settings.DATABASES.items():
        sqlite = str(database.get("ENGINE", "")).endswith("sqlite3")
        mode = str(database.get("OPTIONS", {}).get("transaction_mode", "")).upper()
        if sqlite and mode not in {"IMMEDIATE", "EXCLUSIVE"}:
            hint = f'DATABASES[{alias!r}]["OPTIONS"] = {{"transaction_mode": "IMMEDIATE", "timeout": 20}}'
            message = (
                f"SQLite database {alias!r} starts transactions that fail when another one writes."
            )
            messages.append(Warning(message, hint=hint, id="payments_pages.W003"))
        if database.get("TIME_ZONE") and not str(database.get("ENGINE", "")).endswith(_HAS_ZONES):
            hint = f'Take "TIME_ZONE" out of DATABASES[{alias!r}]; the setting TIME_ZONE stays.'
            message = (
                f"Database {alias!r} has a TIME_ZONE of its own: times would be stored hours off."
            )
            messages.append(Error(message, hint=hint, id="payments_pages.E040"))
    return messages
