"""Messages for staff about errors of the service and of the database."""

from django.db import DatabaseError, InterfaceError
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
    """Return what went wrong and what staff can do.

    A database error that is not transient is raised again: it is a fault of our code.
    """
    if isinstance(error, DatabaseError):
        if not is_transient(error):
            raise error
        return _("The database is busy. The service may have saved the change: sync.")
    if isinstance(error, AuthenticationFailed | UnusableKey):
        return _key_message(error)
    if isinstance(error, UnreadablePage | RequestRefused):
        return _refusal_message(error)
    if not isinstance(error, ServiceError):
        return str(error)
    if error.maybe_done:
        return _("The service did not answer. It may have saved the change: save again, or sync.")
    return _("The service cannot be reached right now. Nothing was changed.")


def _refusal_message(error: UnreadablePage | RequestRefused) -> str:
    if isinstance(error, UnreadablePage):
        text = _("The service’s answer cannot be mirrored: %(message)s")
    else:
        text = _("The service refused this: %(message)s")
    return text % {"message": error}


def _key_message(error: AuthenticationFailed | UnusableKey) -> str:
    if isinstance(error, UnusableKey):
        return _("Our secret key cannot be read right now. Nothing was changed.")
    return _("The service refused our key. An administrator must check SECRET_KEY.")


def database_busy_message(error: DatabaseError | InterfaceError) -> str:
    """Return that the database is busy; raise an error that is not transient again."""
    if not is_transient(error):
        raise error
    return _("The database is busy. Look at the payment before you try again.")
