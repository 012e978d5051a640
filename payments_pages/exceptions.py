"""The tree of errors. This module imports nothing of ours.

    PaymentsPagesError
    ├── ConfigurationError             a setting is missing or wrong
    │   ├── OtherSite                  the tables are bound to another site
    │   └── UnusableCardKeys           no card's code can be encrypted, or this one not be read
    ├── OpenTransactionError           the path was entered inside a transaction of the caller
    ├── InvalidReference               not a reference; nothing was asked
    ├── InvalidEvent                   a webhook's body is not an event we can read
    ├── AmountError                    a typed amount cannot be read
    ├── PageError                      a page cannot be made or changed as asked
    ├── DecisionError                  a decision of staff is not carried out; it says why
    ├── DeliveryError                  for the merchant's handler to raise
    │   └── PermanentFulfilmentError   trying again cannot help: hold it for staff
    └── ServiceError                   a call got no usable response
        ├── ServiceUnavailable         no response, or a fault of the service
        │   ├── DeadlineExceeded       the call's whole time is used up
        │   ├── NotAsked               no call was made: too many wait, or the service keeps failing
        │   │   └── UnusableKey        our key could not be read; a ConfigurationError, too
        │   └── RateLimited            429
        ├── InvalidResponse            a response that cannot be believed
        │   └── UnreadablePage         a page in it cannot be stored
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
    "OtherSite",
    "PageError",
    "PaymentsPagesError",
    "PermanentFulfilmentError",
    "RateLimited",
    "RequestRefused",
    "ServiceError",
    "ServiceUnavailable",
    "UnreadablePage",
    "UnusableCardKeys",
    "UnusableKey",
]


class PaymentsPagesError(Exception):
    """The root of every error that this app raises."""

    retryable: ClassVar[bool] = False


class ConfigurationError(PaymentsPagesError, ImproperlyConfigured):
    """A setting that is missing or wrong; `manage.py check` names it too."""


class OtherSite(ConfigurationError):
    """The tables are bound to another site than that of `SITE_URL`: this may be a copy of them."""


class UnusableCardKeys(ConfigurationError):
    """Keys by which a card's code cannot be encrypted or read; the message quotes neither.

    `CARD_KEYS` is missing or malformed, the extra `cards` is not installed, or the key that
    encrypted the code was removed.
    """


class OpenTransactionError(PaymentsPagesError, TransactionManagementError):
    """A call of the path inside an open transaction of the caller.

    A rollback of the caller would undo a delivery that the payer was already told about, and our
    call to the service would hold the caller's locks. Use `confirm_payment_on_commit`.
    """


class InvalidReference(PaymentsPagesError, BadRequest):
    """A text that cannot be a reference; Django's response is 400."""


class InvalidEvent(PaymentsPagesError, BadRequest):
    """A refused body of the webhook or of confirm; `status` is the HTTP status of the response."""

    status: ClassVar[int] = 400


class AmountError(PaymentsPagesError, ValueError):
    """A typed amount that is refused; `code` names the broken rule, for translation.

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
    """A refusal to create or change a page.

    `field` names the form field that the message is about, or is None. `slug` is set when the page
    may exist at the service although no response to its creation came: create it with that slug
    again to find it.
    """

    def __init__(self, message: str, *, field: str | None = None, slug: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.slug = slug


class DecisionError(PaymentsPagesError):
    """A refused decision of staff about a payment; the message says why, in their language."""


class DeliveryError(PaymentsPagesError):
    """The root of the errors that a merchant's handler raises on purpose."""

    retryable = True


class PermanentFulfilmentError(DeliveryError):
    """An error by which a handler says that no other attempt can help; staff decide about it."""

    retryable = False


class ServiceError(PaymentsPagesError):
    """The root of the errors of calls that got no usable response.

    - `status`: the HTTP status; None if there was no response.
    - `retry_after`: seconds; None if the service did not say.
    - `maybe_done`: the service may have carried the request out all the same. Look before you
      send it again.
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
    """A call without a response, or with a 5xx, 408 or 425 response."""

    retryable = True


class DeadlineExceeded(ServiceUnavailable):
    """A call that used up all its time."""


class NotAsked(ServiceUnavailable):
    """A call that was not made, to spare the service and our own threads.

    This says nothing about the payment, and nothing was done at the service.
    """


class UnusableKey(ConfigurationError, NotAsked):
    """A secret key that could not be read, or that no header can contain.

    Like a refused key this is the merchant's own trouble: an alarm is logged, and the payer is
    asked to come again. Another try can help, because a vault may be back in a minute. The message
    quotes neither the key nor what its callable raised.
    """


class RateLimited(ServiceUnavailable):
    """A 429 response of the service."""


class InvalidResponse(ServiceError):
    """A response that cannot be believed: a proxy's page, half a document, another reference.

    Retryable: what stands between us and the service may recover.
    """

    retryable = True


class UnreadablePage(InvalidResponse):
    """A page that cannot be stored; the message names it, and says why.

    `number` is its number at the service; None if the response has none.
    """

    def __init__(self, message: str, *, number: int | None = None) -> None:
        super().__init__(message)
        self.number = number


class AuthenticationFailed(ServiceError):
    """A key that the service refuses (401, 403). Somebody must change it."""


class NotFound(ServiceError):
    """A page or reference that the service does not know now."""


class RequestRefused(ServiceError):
    """Any other 4xx; the message quotes the service, shortened, for staff only."""
