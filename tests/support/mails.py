"""The mail backend of a test, on every Django."""

from typing import Any

import django

__all__ = ["LOCMEM", "mail_settings", "use_backend"]

LOCMEM = "django.core.mail.backends.locmem.EmailBackend"


def mail_settings(path: str) -> dict[str, Any]:
    """Return the settings that name a backend; Django 6.1 has another one than Django before it."""
    if django.VERSION >= (6, 1):
        return {"MAILERS": {"default": {"BACKEND": path}}}
    return {"EMAIL_BACKEND": path}


def use_backend(settings: Any, path: str) -> None:
    """Send the mails of this test by that backend."""
    for name, value in mail_settings(path).items():
        setattr(settings, name, value)
