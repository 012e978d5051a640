"""Draw the one tree of errors. A leaf: it imports nothing of ours.

    PaymentsPagesError
    ├── ConfigurationError             a setting is missing or wrong
    ├── OpenTransactionError           the path was entered inside a transaction of the caller
    ├── InvalidReference               not a reference; nothing was asked
    ├── InvalidEvent                   a webhook's body is not an event we can read
    ├── AmountError                    a typed amount cannot be read
    ├── PageError                      a page cannot be made or changed as asked
    ├── DecisionError                  a decision of staff is not carried out; it says why
    ├── DeliveryError                  for the merchant's handler to raise
    │   └── PermanentFulfilmentError   trying again cannot help: hold it for staff
    └── ServiceError                   a call did not give an answer to act upon
        ├── ServiceUnavailable         no answer, or the service says it is unwell
        │   ├── DeadlineExceeded       the call's whole time is used up
        │   ├── NotAsked               no call was made: too many wait, or the service keeps failing
        │   │   └── UnusableKey        our key could not be read; a ConfigurationError, too
        │   └── RateLimited            429
        ├── InvalidResponse            an answer came, and is not one we can believe
        │   └── UnreadablePage         it describes a page in a way that no mirror can show
        ├── AuthenticationFailed       401 or 403: our key, never the payer's fault
        ├── NotFound                   the service does not know it now
        └── RequestRefused             any other 4xx: the request itself is refused

`retryable` says whether the same call may work later without anybody changing anything.
No message, argument or repr carries the key or a payer's data.
"""

from typing import ClassVar

from django.core.exceptions import BadRequest, ImproperlyConfigured
from django.db.transaction import TransactionManagementError

__all__ = [
    "AmountError",
    "AuthenticationFailed",
    "ConfigurationError",
    "DeadlineExceeded",
    "DecisionError",
    "DeliveryError",
    "InvalidEvent",
    "InvalidReference",
    "InvalidResponse",
    "NotAsked",
    "NotFound",
    "OpenTransactionError",
    "PageError",
    "PaymentsPagesError",
    "PermanentFulfilmentError",
    "RateLimited",
    "RequestRefused",
    "ServiceError",
    "ServiceUnavailable",
    "UnreadablePage",
    "UnusableKey",
]


class PaymentsPagesError(Exception):
    """Be the root of every error this app raises."""

    retryable: ClassVar[bool] = False


class ConfigurationError(PaymentsPagesError, ImproperlyConfigured):
    """Report a setting that is missing or wrong; `manage.py check` names it too."""


class OpenTransactionError(PaymentsPagesError, TransactionManagementError):
    """Report that the path was entered inside an open transaction.

    A rollback out there would undo a delivery that the payer was already told about, and a
    network call in here would hold its locks. Use `confirm_payment_on_commit`.
    """


class InvalidReference(PaymentsPagesError, BadRequest):
    """Refuse text that cannot be a reference; Django answers it with 400."""


class InvalidEvent(PaymentsPagesError, BadRequest):
    """Refuse a webhook's or a confirm's body; `status` is the HTTP status that says why."""

    status: ClassVar[int] = 400


class AmountError(PaymentsPagesError, ValueError):
    """Refuse a typed amount; `code` names the broken rule, for translation.

    `readings` are the two amounts that an ambiguous figure may mean, each as it can be typed.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        currency: str = "",
        exponent: int = 2,
        readings: tuple[str, str] = ("", ""),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.currency = currency
        self.exponent = exponent
        self.readings = readings


class PageError(PaymentsPagesError, ValueError):
    """Refuse to create or change a page.

    `field` names the form field it is about, if one. `slug` is set when the page may exist at
    the service although its creation was not answered: asking with that slug again finds it.
    """

    def __init__(self, message: str, *, field: str | None = None, slug: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.slug = slug


class DecisionError(PaymentsPagesError):
    """Refuse what staff decided about a payment; the message tells them why, in their language."""


class DeliveryError(PaymentsPagesError):
    """Be the root of what a merchant's handler raises on purpose."""

    retryable = True


class PermanentFulfilmentError(DeliveryError):
    """Say, from inside a handler, that trying again cannot help: hold it for staff."""

    retryable = False


class ServiceError(PaymentsPagesError):
    """Be the root of every call that gave no answer to act upon.

    `status` is the HTTP status, or None when there was none. `retry_after` is in seconds, or
    None when the service did not say. `maybe_done` says that the service may have carried the
    request out although no answer came: look before asking again.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: int | None = None,
        maybe_done: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.maybe_done = maybe_done


class ServiceUnavailable(ServiceError):
    """Report that no answer came, or that the service answered with a fault of its own."""

    retryable = True


class DeadlineExceeded(ServiceUnavailable):
    """Report that the whole time of a call is used up."""


class NotAsked(ServiceUnavailable):
    """Report that we made no call, to spare the service and our own threads.

    It says nothing about the payment, and nothing was done at the service.
    """


class UnusableKey(ConfigurationError, NotAsked):
    """Report that the secret key could not be read, or that no header can carry it.

    The merchant's own trouble, as a refused key is: the payer is told to come again, an alarm is
    logged. A vault may be back in a minute, so trying again can help. Quotes neither the key nor
    what its callable raised.
    """


class RateLimited(ServiceUnavailable):
    """Report a 429."""


class InvalidResponse(ServiceError):
    """Report an answer that cannot be believed: a proxy's page, half a document, another reference.

    Retryable: what stands between us and the service may have recovered by then.
    """

    retryable = True


class UnreadablePage(InvalidResponse):
    """Report a page that cannot be mirrored; the message names it, and says why.

    `number` is its number at the service, or None when the answer gives none.
    """

    def __init__(self, message: str, *, number: int | None = None) -> None:
        super().__init__(message)
        self.number = number


class AuthenticationFailed(ServiceError):
    """Report a refused key (401, 403). Somebody must change it."""


class NotFound(ServiceError):
    """Report that the service does not know the page or reference now."""


class RequestRefused(ServiceError):
    """Report a 4xx; the message holds the service's own words, shortened, for staff only."""
