"""Build what the checks say. Ids are never reused; each hint holds what to write."""

from collections.abc import Sequence

from django.apps import AppConfig
from django.core.checks import Error, Warning  # noqa: A004 - Django's own name

__all__ = ["Configs", "error", "is_texts", "warning"]

Configs = Sequence[AppConfig] | None


def error(message: str, hint: str, number: int) -> Error:
    """Build an error with this app's id."""
    return Error(message, hint=hint, id=f"payments_pages.E{number:03}")


def warning(message: str, hint: str, number: int) -> Warning:
    """Build a warning with this app's id."""
    return Warning(message, hint=hint, id=f"payments_pages.W{number:03}")


def is_texts(value: object) -> bool:
    """Tell whether a value is a list or tuple of texts, none of them blank."""
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(item, str) and item for item in value)
