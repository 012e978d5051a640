"""Say in words what went wrong at the service, and what staff can do about it."""

from django.utils.translation import gettext

from payments_pages.exceptions import (
    AuthenticationFailed,
    ConfigurationError,
    PaymentsPagesError,
    RequestRefused,
    ServiceError,
)

__all__ = ["explain"]


def explain(error: PaymentsPagesError) -> str:
    """Tell staff what went wrong at the service and what they can do."""
    if isinstance(error, AuthenticationFailed):
        return gettext("The service refused our key. Somebody must check SECRET_KEY.")
    if isinstance(error, RequestRefused):
        return gettext("The service refused this: %(message)s") % {"message": error}
    if isinstance(error, ConfigurationError):
        return str(error)
    if isinstance(error, ServiceError) and error.maybe_done:
        return gettext(
            "The service did not answer. It may have taken the change: save again, or sync."
        )
    if isinstance(error, ServiceError):
        return gettext("The service cannot be reached right now. Nothing was changed.")
    return str(error)
