"""Messages for staff about errors of the service and of the database."""

from django.db import DatabaseError, InterfaceError
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from payments_pages.admin.formats import error_sentence, format_sentence, quoted
from payments_pages.db import is_transient, is_unstorable
from payments_pages.exceptions import (
    AuthenticationFailed,
    PaymentsPagesError,
    RequestRefused,
    ServiceError,
    UnreadablePage,
    UnusableKey,
)
from payments_pages.staff import find_sentence

__all__ = ["database_busy_message", "explain"]


def explain(error: PaymentsPagesError | DatabaseError) -> str:
    """Return what went wrong and what staff can do, for HTML; what the service said is quoted.

    A database error that is neither transient nor about letters that the database cannot store is
    raised again: it is a fault of our code.
    """
    if isinstance(error, DatabaseError):
        return _database_message(error)
    if isinstance(error, AuthenticationFailed | UnusableKey):
        return _key_message(error)
    if isinstance(error, UnreadablePage | RequestRefused):
        return _refusal_message(error)
    if not isinstance(error, ServiceError):
        return error_sentence(str(error)) or str(error)
    if error.maybe_done:
        return _("The service did not answer. It may have saved the change: save again, or sync.")
    return _("The service cannot be reached right now. Nothing was changed.")


def _database_message(error: DatabaseError) -> str:
    if is_unstorable(error):
        return _(
            "The database cannot store these letters: its character set is not utf8mb4. Ask an "
            "administrator to run “manage.py check --database”. The service may have saved the "
            "change."
        )
    if not is_transient(error):
        raise error
    return _("The database is busy. The service may have saved the change: sync.")


def _refusal_message(error: UnreadablePage | RequestRefused) -> str:
    told = error_sentence(str(error))
    if isinstance(error, UnreadablePage):
        text = _("The service’s answer cannot be mirrored: {message}")
    else:
        text = _("The service refused this: {message}")
        told = _words_of_the_service(error)
    return format_sentence(text, message=told or quoted(str(error)))


def _words_of_the_service(error: RequestRefused) -> SafeString:
    """Quote what the service said, without our own words before it; blank if it said nothing."""
    sentence = find_sentence(str(error))
    words = sentence and sentence.parts.get("words")
    return quoted(words) if isinstance(words, str) else SafeString("")


def _key_message(error: AuthenticationFailed | UnusableKey) -> str:
    if isinstance(error, UnusableKey):
        return _("Our secret key cannot be read right now. Nothing was changed.")
    return _("The service refused our key. An administrator must check SECRET_KEY.")


def database_busy_message(error: DatabaseError | InterfaceError) -> str:
    """Return that the database is busy; raise an error that is not transient again."""
    if not is_transient(error):
        raise error
    return _("The database is busy. Look at the payment before you try again.")
