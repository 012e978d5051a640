"""Keep payers' details from staff who may not see them: close every way to ask about them."""

from typing import Any, Final

from django.http import HttpRequest

from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.admin.transactions.search import CUSTOMERS

__all__ = ["CUSTOMER_FIELDS", "Customers", "sees_customers"]

CUSTOMER_FIELDS: Final = frozenset(
    {"authorization", "customer", "customer_email", "ip_address", "log", "metadata", "unreadable"}
)
"""Columns of a transaction that may hold what a payer typed, or say who they are."""


def sees_customers(request: HttpRequest) -> bool:
    """Say whether this person may see customers' details."""
    return request.user.has_perm(CUSTOMERS)


class Customers(ReadOnlyAdmin):
    """Refuse filters in the address that ask about a hidden field.

    Django allows a filter by any column of a list's own model: without the permission,
    `?customer_email__startswith=n` would find out, letter by letter, what the cell does not show.
    """

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Refuse to filter by what is hidden; Django answers 400."""
        if lookup.split("__", maxsplit=1)[0] in CUSTOMER_FIELDS and not sees_customers(request):
            return False
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed
