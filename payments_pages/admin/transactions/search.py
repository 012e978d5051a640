"""Search by a whole reference, or by the beginning of the payer's e-mail address."""

from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _

from payments_pages.admin import permissions
from payments_pages.admin.permissions import sees_customers
from payments_pages.choices import Mode
from payments_pages.exceptions import InvalidReference
from payments_pages.models import Transaction, Verification
from payments_pages.references import check_reference, text_key

__all__ = [
    "CUSTOMER_FIELDS",
    "is_hidden",
    "keys_of",
    "open_searched_reference",
    "search_transactions",
]

CUSTOMER_FIELDS: Final = frozenset(
    {"authorization", "customer", "customer_email", "ip_address", "log", "metadata", "unreadable"}
)
"""Columns of a transaction that may contain what a payer typed, or say who the payer is."""


def keys_of(text: str) -> list[str]:
    """Return the keys under which a reference may be stored, one for each mode.

    Empty if the text cannot be a reference.
    """
    try:
        reference = check_reference(text.strip())
    except InvalidReference:
        return []
    return [text_key(mode, reference) for mode in Mode.values]


def search_transactions(
    request: HttpRequest, queryset: QuerySet[Transaction], search_term: str
) -> QuerySet[Transaction]:
    """Filter by a whole reference, byte for byte, or by the beginning of an e-mail address.

    E-mail addresses only for people who may see them, without regard to case: the results would
    otherwise reveal an address letter by letter.
    """
    term = search_term.strip()
    if not term:
        return queryset
    named = queryset.filter(reference_key__in=keys_of(term))
    if not sees_customers(request) or named.exists():
        return named
    return queryset.filter(customer_email__istartswith=term)


def open_searched_reference(model_admin: Any, request: HttpRequest) -> HttpResponse | None:
    """Redirect to the one payment, or verification, whose whole reference was searched for.

    None: show the list.
    """
    term = request.GET.get(SEARCH_VAR, "").strip()
    keys = keys_of(term) if request.method == "GET" and "_popup" not in request.GET else []
    if not keys or not model_admin.has_view_permission(request):
        return None
    paid = list(Transaction.objects.filter(reference_key__in=keys)[:2])
    if len(paid) == 1:
        return _open(model_admin, "transaction", paid[0].pk)
    asked = list(Verification.objects.filter(reference_key__in=keys)[:2])
    if len(asked) == 1 and not paid and request.user.has_perm(permissions.VERIFICATIONS):
        text = _("The service has not reported a payment with this reference yet.")
        model_admin.message_user(request, text, messages.INFO)
        return _open(model_admin, "verification", asked[0].pk)
    return None


def _open(model_admin: Any, model: str, pk: int) -> HttpResponse:
    return HttpResponseRedirect(model_admin.reverse(f"payments_pages_{model}_change", pk))


def is_hidden(request: HttpRequest, lookup: str) -> bool:
    """Say whether a filter in the URL asks about a column that this person may not see.

    Django allows filters by any column of a list's own model. Without this check,
    `?customer_email__startswith=n` would reveal an address letter by letter.
    """
    return lookup.split("__", maxsplit=1)[0] in CUSTOMER_FIELDS and not sees_customers(request)
