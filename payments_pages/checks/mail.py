"""Checks of `NOTIFY`, and of whether the site sends the mails that it asks for."""

import warnings
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's own name
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from payments_pages.conf import conf

__all__ = ["check_mail", "check_notify"]

_SMTP = "django.core.mail.backends.smtp.EmailBackend"
_UNSENT = frozenset(
    f"django.core.mail.backends.{name}.EmailBackend"
    for name in ("console", "dummy", "filebased", "locmem")
)
_NOBODY = "webmaster@localhost"
"""Django's default for `DEFAULT_FROM_EMAIL`."""


@register(Tags.compatibility)
def check_notify(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """E043: NOTIFY is no list of e-mail addresses."""
    notify = conf.get("NOTIFY")
    if notify is None or (isinstance(notify, list | tuple) and all(map(_is_address, notify))):
        return []
    message = "PAYMENTS_PAGES['NOTIFY'] is no list of e-mail addresses."
    hint = '"NOTIFY": ["payments@…"]'
    return [Error(message, hint=hint, id="payments_pages.E043")]


@register(Tags.compatibility, deploy=True)
def check_mail(app_configs: object, **_kwargs: Any) -> list[CheckMessage]:
    """W025: mails to NOTIFY are not sent. W026: their sender is Django's `webmaster@localhost`."""
    if not conf.get("NOTIFY"):
        return []
    messages: list[CheckMessage] = []
    backend = _backend()
    if backend in _UNSENT:
        message = f"PAYMENTS_PAGES['NOTIFY'] is set, but {backend} sends no mails."
        hint = "Set up Django's e-mail: how mails are sent, and DEFAULT_FROM_EMAIL."
        messages.append(Warning(message, hint=hint, id="payments_pages.W025"))
    if settings.DEFAULT_FROM_EMAIL == _NOBODY:
        message = f"PAYMENTS_PAGES['NOTIFY'] is set, and mails would come from {_NOBODY}."
        hint = 'DEFAULT_FROM_EMAIL = "shop@…"'
        messages.append(Warning(message, hint=hint, id="payments_pages.W026"))
    return messages


def _backend() -> str:
    """Return the dotted path of what sends mails; Django 6.1 has it in `MAILERS`."""
    mailers = getattr(settings, "MAILERS", None)
    if mailers is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Django 6.1 warns of this setting, also of its default
            return str(settings.EMAIL_BACKEND)
    return str(mailers.get("default", {}).get("BACKEND", _SMTP))


def _is_address(value: object) -> bool:
    """Tell whether a value is `shop@…` or `Shop <shop@…>`."""
    if not isinstance(value, str) or not value.isprintable():
        return False
    try:
        validate_email(parseaddr(value)[1])
    except ValidationError:
        return False
    return True
