"""Say in words what went wrong at the service, and what staff can do about it."""

from django.db import DatabaseError, InterfaceError
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from payments_pages.db import is_transient
from payments_pages.exceptions import (
    AuthenticationFailed,
    PaymentsPagesError,
    RequestRefused,
    ServiceError,
    UnreadablePage,
    UnusableKey,
)

__all__ = ["database_busy_message", "explain"]


def explain(error: PaymentsPagesError | DatabaseError) -> str:
    """Tell staff what went wrong and what they can do.

    A database error that is a fault of ours, and no passing one, is raised again.
    """
    if isinstance(error, DatabaseError):
        if not is_transient(error):
            raise error
        return gettext("The database is busy. The service may have taken the change: sync.")
    if isinstance(error, AuthenticationFailed | UnusableKey):
        return _key_trouble(error)
    if isinstance(error, UnreadablePage | RequestRefused):
        return _in_its_words(error)
    if not isinstance(error, ServiceError):
        return str(error)
    if error.maybe_done:
        return gettext(
            "The service did not answer. It may have taken the change: save again, or sync."
        )
    return gettext("The service cannot be reached right now. Nothing was changed.")


def _in_its_words(error: UnreadablePage | RequestRefused) -> str:
    if isinstance(error, UnreadablePage):
        text = gettext("The service’s answer cannot be mirrored: %(message)s")
    else:
        text = gettext("The service refused this: %(message)s")
    return text % {"message": error}


def _key_trouble(error: AuthenticationFailed | UnusableKey) -> str:
    if isinstance(error, UnusableKey):
        return gettext("Our secret key cannot be read right now. Nothing was changed.")
    return gettext("The service refused our key. Somebody must check SECRET_KEY.")


def database_busy_message(error: DatabaseError | InterfaceError) -> str:
    """Say that a database error may pass; raise any other."""
    if not is_transient(error):
        raise error
    return _("The database is busy. Look at the payment before you try again.")
