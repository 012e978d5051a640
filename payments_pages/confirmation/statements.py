"""Keep the statements that every payment runs, compiled once per connection.

Each is what the ORM would run for the queryset that stands here; see `statements` for why they
are kept. Guards (compare-and-set) are written here like all others: what makes them guards is
where the steps call them.
"""

import datetime as dt
from typing import Final

from django.db.models import (
    BigAutoField,
    BooleanField,
    Case,
    CharField,
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    IntegerField,
    Q,
    UUIDField,
    Value,
    When,
)
from django.db.models.lookups import Exact

from payments_pages.choices import FulfilmentState, Reason, VerificationState
from payments_pages.db import Given, Insert, Select, Unindexed, Update, UtcNow
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
    "INSERT_EVENT",
    "INSERT_SIGNED_VERIFICATION",
    "INSERT_TRANSACTION",
    "PAGE_BY_TOKEN",
    "SETTLED_BY_KEY",
    "SETTLE_VERIFICATION",
    "TRANSACTION_BY_KEY",
    "TRANSACTION_BY_TOKEN",
    "VERIFICATION_BY_KEY",
]

VERIFICATION_BY_KEY: Final = Select(
    lambda: Verification.objects.filter(reference_key=Given("key", CharField()))
)
TRANSACTION_BY_KEY: Final = Select(
    lambda: (
        Transaction.objects.filter(reference_key=Given("key", CharField()))
        .select_related("fulfilment", "page", "expected_payment")
        .annotate(
            delivery_due=ExpressionWrapper(
                Q(fulfilment__next_at__lte=UtcNow()), output_field=BooleanField()
            )
        )
    )
)
"""With all that hangs on it; `delivery_due`: by the database's clock, its fulfilment's time has come."""
SETTLED_BY_KEY: Final = Select(
    lambda: (
        Transaction.objects.filter(reference_key=Given("key", CharField()))
        .select_related("fulfilment")
        .only("reference", "reference_key", "token", "fulfilment__state")
    )
)
"""No more than a door needs for what is settled; the other fields are read when asked for."""
TRANSACTION_BY_TOKEN: Final = Select(
    lambda: Transaction.objects.filter(token=Given("token", UUIDField())).select_related(
        "fulfilment", "page"
    )
)
EXPECTED_BY_KEY: Final = Select(
    lambda: ExpectedPayment.objects.filter(reference_key=Given("key", CharField())).select_related(
        "page"
    )
)
PAGE_BY_TOKEN: Final = Select(lambda: PaymentPage.objects.filter(token=Given("token", UUIDField())))

_CLAIMED: Final = {
    "next_at": UtcNow() + Given("lease", DurationField()),
    "asked_at": UtcNow(),
    "named_at": UtcNow(),
}
INSERT_CLAIMED_VERIFICATION: Final = Insert(Verification, **_CLAIMED)
INSERT_SIGNED_VERIFICATION: Final = Insert(Verification, **_CLAIMED, signed_success_at=UtcNow())
INSERT_TRANSACTION: Final = Insert(Transaction)
INSERT_ACCEPTED_FULFILMENT: Final = Insert(
    Fulfilment, next_at=UtcNow() + Given("lease", DurationField())
)
INSERT_EVENT: Final = Insert(Event)

_REFRESHED_MEANWHILE: Final = Q(refresh_attempt__gte=F("attempts"))
SETTLE_VERIFICATION: Final = Update(
    lambda: (
        Verification.objects.filter(
            Exact(Unindexed("state"), VerificationState.VERIFYING),
            pk=Given("pk", BigAutoField()),
            attempts=Given("attempt", IntegerField()),
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
    )
)
COMPLETE_FULFILMENT: Final = Update(
    lambda: (
        Fulfilment.objects.filter(
            # An atomic handler may be long, and this is locked meanwhile: one row, by its key.
            Exact(Unindexed("state"), FulfilmentState.DELIVERING),
            pk=Given("pk", BigAutoField()),
            attempts=Given("attempt", IntegerField()),
        ),
        {
            "state": FulfilmentState.DELIVERED,
            "reason": Reason.NONE,
            "delivered_at": UtcNow(),
            "next_at": None,
            "last_error": "",
        },
    )
)
