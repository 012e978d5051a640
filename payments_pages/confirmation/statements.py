"""The statements that every payment runs. `db.compiled` compiles their SQL once per connection.

Each statement does what the ORM does for the queryset that is written here. Some are guards: a step
runs them as the first statement of its transaction.
"""

import datetime as dt
from typing import Any, Final

from django.db.models import (
    BigAutoField,
    BooleanField,
    Case,
    CharField,
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    IntegerField,
    Q,
    Subquery,
    UUIDField,
    Value,
    When,
)
from django.db.models.lookups import Exact

from payments_pages.choices import FulfilmentState, Reason, VerificationState
from payments_pages.db import Insert, Select, Unindexed, Update, UtcNow
from payments_pages.models import (
    Event,
    ExpectedPayment,
    Fulfilment,
    PaymentPage,
    Transaction,
    Verification,
)

__all__ = [
    "COMPLETE_FULFILMENT",
    "EXPECTED_BY_KEY",
    "INSERT_ACCEPTED_FULFILMENT",
    "INSERT_CLAIMED_VERIFICATION",
    "INSERT_DELIVERED_EVENT",
    "INSERT_DELIVERED_FULFILMENT",
    "INSERT_EVENT",
    "INSERT_SIGNED_VERIFICATION",
    "INSERT_TRANSACTION",
    "PAGE_BY_TOKEN",
    "PAGE_OF_CALLBACK",
    "SETTLED_BY_KEY",
    "SETTLE_VERIFICATION",
    "TRANSACTION_BY_KEY",
    "TRANSACTION_BY_TOKEN",
    "VERIFICATION_BY_KEY",
]

VERIFICATION_BY_KEY: Final = Select(
    lambda key: Verification.objects.filter(reference_key=key), key=CharField()
)
TRANSACTION_BY_KEY: Final = Select(
    lambda key: (
        Transaction.objects.filter(reference_key=key)
        .select_related("fulfilment", "page", "expected_payment")
        .annotate(
            delivery_due=ExpressionWrapper(
                Q(fulfilment__next_at__lte=UtcNow()), output_field=BooleanField()
            )
        )
    ),
    key=CharField(),
)
"""The transaction with its related rows. `delivery_due`: the fulfilment's `next_at` has passed, by
the database's clock."""
SETTLED_BY_KEY: Final = Select(
    lambda key: (
        Transaction.objects.filter(reference_key=key)
        .select_related("fulfilment")
        .only("reference", "reference_key", "token", "status", "fulfilment__state")
    ),
    key=CharField(),
)
"""The fields that a door needs for a settled payment. The others are deferred."""
TRANSACTION_BY_TOKEN: Final = Select(
    lambda token: Transaction.objects.filter(token=token).select_related("fulfilment", "page"),
    token=UUIDField(),
)
EXPECTED_BY_KEY: Final = Select(
    lambda key: ExpectedPayment.objects.filter(reference_key=key).select_related("page"),
    key=CharField(),
)
PAGE_BY_TOKEN: Final = Select(
    lambda token: PaymentPage.objects.filter(token=token), token=UUIDField()
)
PAGE_OF_CALLBACK: Final = Select(
    lambda token, key: PaymentPage.objects.filter(token=token).annotate(
        is_expected=Exists(ExpectedPayment.objects.filter(reference_key=key))
    ),
    token=UUIDField(),
    key=CharField(),
)
"""The page of a callback. `is_expected`: there is an expected payment with this reference, too."""


def _claimed(lease: Any) -> dict[str, Any]:
    return {"next_at": UtcNow() + lease, "asked_at": UtcNow(), "named_at": UtcNow()}


INSERT_CLAIMED_VERIFICATION: Final = Insert(Verification, _claimed, lease=DurationField())
INSERT_SIGNED_VERIFICATION: Final = Insert(
    Verification,
    lambda lease: {**_claimed(lease), "signed_success_at": UtcNow()},
    lease=DurationField(),
)
INSERT_TRANSACTION: Final = Insert(Transaction)
INSERT_ACCEPTED_FULFILMENT: Final = Insert(
    Fulfilment, lambda lease: {"next_at": UtcNow() + lease}, lease=DurationField()
)
INSERT_DELIVERED_FULFILMENT: Final = Insert(Fulfilment, lambda: {"delivered_at": UtcNow()})
INSERT_EVENT: Final = Insert(Event)


def _marked_key(pk: Any, attempt: Any) -> dict[str, Any]:
    marked = Fulfilment.objects.filter(pk=pk, attempts=attempt, state=FulfilmentState.DELIVERED)
    return {"reference_key": Subquery(marked.values("reference_key")[:1])}


INSERT_DELIVERED_EVENT: Final = Insert(
    Event, _marked_key, pk=BigAutoField(), attempt=IntegerField()
)
"""The line of a delivery. If the row is no longer `delivered`, it has no key, and the database
refuses it: an `IntegrityError`. So the look costs no statement of its own."""

_REFRESHED_MEANWHILE: Final = Q(refresh_attempt__gte=F("attempts"))
SETTLE_VERIFICATION: Final = Update(
    lambda pk, attempt: (
        Verification.objects.filter(
            Exact(Unindexed("state"), VerificationState.VERIFYING), pk=pk, attempts=attempt
        ),
        {
            "next_at": Case(
                When(_REFRESHED_MEANWHILE, then=UtcNow() + dt.timedelta(seconds=5)),
                default=None,
                output_field=DateTimeField(null=True),
            ),
            "state": Case(
                When(_REFRESHED_MEANWHILE, then=Value(VerificationState.DUE)),
                default=Value(VerificationState.SETTLED),
            ),
            "last_error": "",
        },
    ),
    pk=BigAutoField(),
    attempt=IntegerField(),
)
COMPLETE_FULFILMENT: Final = Update(
    lambda pk, attempt: (
        # `Unindexed`: the row must be found by its primary key. It stays locked while an atomic
        # handler runs, and an entry in the state's index would be locked, too.
        Fulfilment.objects.filter(
            Exact(Unindexed("state"), FulfilmentState.DELIVERING), pk=pk, attempts=attempt
        ),
        {
            "state": FulfilmentState.DELIVERED,
            "reason": Reason.NONE,
            "delivered_at": UtcNow(),
            "next_at": None,
            "last_error": "",
        },
    ),
    pk=BigAutoField(),
    attempt=IntegerField(),
)
