"""The words that rows, decisions and doors use.

Their values are stored: never rename one, never reuse one.
"""

from typing import Self

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

__all__ = [
    "Attributed",
    "Door",
    "EventKind",
    "FulfilmentState",
    "Mode",
    "Outcome",
    "Reason",
    "Verdict",
    "VerificationState",
]


class Mode(TextChoices):
    """Test money or real money; the service calls it `domain`."""

    TEST = "test", _("test")
    LIVE = "live", _("live")


class Door(TextChoices):
    """Where a reference came from."""

    CALLBACK = "callback", _("payer came back")
    WEBHOOK = "webhook", _("message of the service")
    CONFIRM = "confirm", _("popup or app")
    CODE = "code", _("the site's own code")
    EXPECTED = "expected", _("expected beforehand")
    ADMIN = "admin", _("staff")
    COMMAND = "command", _("command")
    SWEEP = "sweep", _("automatic check")
    WORKER = "worker", _("background worker")


class VerificationState(TextChoices):
    """How far the questions to the service about a reference have come."""

    DUE = "due", _("due")
    VERIFYING = "verifying", _("verifying")
    SETTLED = "settled", _("settled")
    UNKNOWN = "unknown", _("unknown to the service")
    LAPSED = "lapsed", _("no longer asked")
    ENDED = "ended", _("no longer asked: ended by staff")

    @classmethod
    def open(cls) -> tuple[Self, ...]:
        """Return the states in which the service is still asked."""
        return (cls.DUE, cls.VERIFYING, cls.UNKNOWN)

    @classmethod
    def given_up(cls) -> tuple[Self, ...]:
        """Return the states in which the service is not asked until somebody names it again."""
        return (cls.LAPSED, cls.ENDED)


class FulfilmentState(TextChoices):
    """How far the delivery of one transaction has come."""

    PENDING = "pending", _("to be delivered")
    DELIVERING = "delivering", _("being delivered")
    DELIVERED = "delivered", _("delivered")
    FAILED = "failed", _("failed, will be tried again")
    HELD = "held", _("held for staff")
    REJECTED = "rejected", _("rejected by staff")

    @classmethod
    def waiting(cls) -> tuple[Self, ...]:
        """Return the states of a delivery that waits for an attempt: no handler is running."""
        return (cls.PENDING, cls.FAILED)

    @classmethod
    def open(cls) -> tuple[Self, ...]:
        """Return the states of a delivery that must still be made, or is being made."""
        return (*cls.waiting(), cls.DELIVERING)

    @classmethod
    def final(cls) -> tuple[Self, ...]:
        """Return the states after which no attempt follows, unless staff take a rejection back."""
        return (cls.DELIVERED, cls.REJECTED)


class Verdict(TextChoices):
    """What the policy decides about a verified transaction."""

    ACCEPT = "accept", _("accept")
    WAIT = "wait", _("wait")
    HOLD = "hold", _("hold")


class Reason(TextChoices):
    """Why a payment is held or waits, for staff."""

    NONE = "", _("none")
    NOT_SUCCESS = "not_success", _("the service does not call it a success")
    MODE_MISMATCH = "mode_mismatch", _("test and live money do not mix")
    UNATTRIBUTED = "unattributed", _("nothing says what it pays for")
    PAGE_NOT_ON_SALE = "page_not_on_sale", _("its page was not on sale")
    OTHER_SITE = "other_site", _("its page is sold by another site")
    CURRENCY_MISMATCH = "currency_mismatch", _("paid in another currency")
    AMOUNT_INVALID = "amount_invalid", _("the amount cannot be read")
    AMOUNT_MISMATCH = "amount_mismatch", _("paid less than the price")
    ATTRIBUTION_CONFLICT = "attribution_conflict", _("it claims to pay for two things")
    DUPLICATE_PAYMENT = "duplicate_payment", _("already paid by another payment")
    ATTEMPTS_SPENT = "attempts_spent", _("the delivery failed too often")
    PERMANENT_ERROR = "permanent_error", _("the delivery cannot succeed")
    TAKEN_BACK = "taken_back", _("its rejection was taken back")


class Attributed(TextChoices):
    """How we know what a transaction pays for."""

    NONE = "", _("not known")
    EXPECTED = "expected", _("expected beforehand")
    METADATA = "metadata", _("named by the payment itself")
    CALLBACK = "callback", _("the payer came back from it")
    AMOUNT = "amount", _("the only page with this price")
    STAFF = "staff", _("said by staff")


class Outcome(TextChoices):
    """The result of one run of the path; each door shows it in its own way."""

    DELIVERED = "delivered", _("delivered now")
    ALREADY_DELIVERED = "already_delivered", _("delivered before")
    DELIVERING = "delivering", _("being delivered by another caller")
    DELIVERY_FAILED = "delivery_failed", _("paid; the delivery will be tried again")
    HELD = "held", _("paid; held for staff")
    REJECTED = "rejected", _("paid; rejected by staff")
    PENDING = "pending", _("not paid yet")
    NOT_PAID = "not_paid", _("not paid")
    UNKNOWN = "unknown", _("unknown to the service")
    UNAVAILABLE = "unavailable", _("cannot be confirmed right now")

    @classmethod
    def given(cls) -> tuple[Self, ...]:
        """Return the outcomes that say: the value has been given, now or before."""
        return (cls.DELIVERED, cls.ALREADY_DELIVERED)


class EventKind(TextChoices):
    """The kind of a line of the timeline."""

    RECEIVED = "received", _("reference received")
    VERIFIED = "verified", _("asked the service")
    VERIFICATION_FAILED = "verification_failed", _("no usable answer of the service")
    STATUS_CHANGED = "status_changed", _("status changed at the service")
    ACCEPTED = "accepted", _("accepted")
    HELD = "held", _("held")
    DELIVERED = "delivered", _("delivered")
    DELIVERY_FAILED = "delivery_failed", _("delivery failed")
    RETRIED = "retried", _("delivery asked for again")
    APPROVED = "approved", _("approved")
    REJECTED = "rejected", _("rejected")
    REOPENED = "reopened", _("rejection taken back")
    ATTRIBUTED = "attributed", _("attributed by staff")
    NOTED = "noted", _("note")
    SERVICE_EVENT = "service_event", _("message of the service")
    SEEN = "seen", _("refund or dispute seen by staff")
    ASKING_ENDED = "asking_ended", _("asking ended by staff")
