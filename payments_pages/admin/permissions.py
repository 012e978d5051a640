"""The permissions that the admin asks for, as `has_perm` takes them.

docs/admin-permissions.md says what each of them allows; `staff.roles` makes groups of them.
"""

from typing import Final

from django.http import HttpRequest

__all__ = [
    "APPROVE",
    "ATTRIBUTE",
    "CUSTOMERS",
    "EXPORT",
    "FORGET_CARDS",
    "NOTE",
    "REJECT",
    "REMOVE_PAGES",
    "RETRY",
    "SYNC_PAGES",
    "TRANSACTIONS",
    "VERIFICATIONS",
    "VERIFY",
    "sees_customers",
]

APPROVE: Final = "payments_pages.approve_fulfilment"
ATTRIBUTE: Final = "payments_pages.attribute_transaction"
CUSTOMERS: Final = "payments_pages.view_customer_details"
EXPORT: Final = "payments_pages.export_transaction"
FORGET_CARDS: Final = "payments_pages.forget_savedcard"
NOTE: Final = "payments_pages.note_transaction"
REJECT: Final = "payments_pages.reject_fulfilment"
REMOVE_PAGES: Final = "payments_pages.remove_paymentpage"
RETRY: Final = "payments_pages.retry_fulfilment"
SYNC_PAGES: Final = "payments_pages.sync_paymentpage"
TRANSACTIONS: Final = "payments_pages.view_transaction"
VERIFICATIONS: Final = "payments_pages.view_verification"
VERIFY: Final = "payments_pages.verify_transaction"


def sees_customers(request: HttpRequest) -> bool:
    """Say whether this person may see customers' details."""
    return request.user.has_perm(CUSTOMERS)
