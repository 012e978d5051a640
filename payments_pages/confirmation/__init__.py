"""The path of one reference: ask the service, record the answer, decide, deliver exactly once.

Every door calls `confirm_payment`. Nothing here renders HTML or reads a request, and no call to the
service is made while a transaction of ours is open.
"""

from payments_pages.confirmation.background import oldest_due, sweep_due
from payments_pages.confirmation.confirm import (
    Confirmation,
    confirm_payment,
    confirm_payment_on_commit,
)
from payments_pages.confirmation.fulfilment import renew_lease

__all__ = [
    "Confirmation",
    "confirm_payment",
    "confirm_payment_on_commit",
    "oldest_due",
    "renew_lease",
    "sweep_due",
]
