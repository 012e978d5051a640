"""Find a payment by its whole reference, or by the beginning of the payer's e-mail address."""

from typing import Any, Final

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _

from payments_pages.admin import permissions
from payments_pages.admin.permissions import sees_customers
from payments_pages.admin.readonly import ReadOnlyAdmin
from payments_pages.choices import Mode
from payments_pages.exceptions import InvalidReference
from payments_pages.models import Transaction, Verification
from payments_pages.references import check_reference, text_key

__all__ = ["CUSTOMER_FIELDS", "SEARCH", "Customers", "Search", "keys_of"]

SEARCH = "q"
"""The query parameter of Django's search box."""


def keys_of(text: str) -> list[str]:
    """Return the keys that a typed text may be stored under, one for each mode; none if it is none."""
    try:
        reference = check_reference(text.strip())
    except InvalidReference:
        return []
    return [text_key(mode, reference) for mode in Mode.values]


class Search(ReadOnlyAdmin):
    """Search by keys and indexes alone, and open what a whole reference names."""

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Transaction], search_term: str
    ) -> tuple[QuerySet[Transaction], bool]:
        """Narrow the list to a reference, byte for byte, or to addresses that begin so, case-blind.

        Addresses are for who may see them: else a search would tell them, letter by letter.
        """
        term = search_term.strip()
        if not term:
            return queryset, False
        named = queryset.filter(reference_key__in=keys_of(term))
        if not sees_customers(request) or named.exists():
            return named, False
        return queryset.filter(customer_email__istartswith=term), False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Go straight to the one payment that a searched text is the whole reference of."""
        term = request.GET.get(SEARCH, "").strip()
        if request.method == "GET" and term and "_popup" not in request.GET:
            found = self._find(request, term)
            if found is not None:
                return found
        return super().changelist_view(request, extra_context)

    def _find(self, request: HttpRequest, term: str) -> HttpResponse | None:
        keys = keys_of(term)
        if not keys or not self.has_view_permission(request):
            return None
        paid = list(Transaction.objects.filter(reference_key__in=keys)[:2])
        if len(paid) == 1:
            return self._open("transaction", paid[0].pk)
        asked = list(Verification.objects.filter(reference_key__in=keys)[:2])
        if len(asked) == 1 and not paid and request.user.has_perm(permissions.VERIFICATIONS):
            text = _("The service has not told us of a payment under this reference yet.")
            self.message_user(request, text, messages.INFO)
            return self._open("verification", asked[0].pk)
        return None

    def _open(self, model: str, pk: int) -> HttpResponse:
        return HttpResponseRedirect(self.reverse(f"payments_pages_{model}_change", pk))


CUSTOMER_FIELDS: Final = frozenset(
    {"authorization", "customer", "customer_email", "ip_address", "log", "metadata", "unreadable"}
)
"""Columns of a transaction that may hold what a payer typed, or say who they are."""


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
