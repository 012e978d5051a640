"""Search by a reference or, for who may see customers, by what a payer says of themselves."""

import re
from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _

from payments_pages.admin import permissions
from payments_pages.admin.permissions import sees_customers
from payments_pages.choices import Mode
from payments_pages.client import phone_end
from payments_pages.exceptions import InvalidReference
from payments_pages.marks import clean_pasted
from payments_pages.models import Transaction, Verification
from payments_pages.references import check_reference, text_key

__all__ = [
    "CUSTOMER_FIELDS",
    "is_hidden",
    "keys_of",
    "open_searched_reference",
    "search_hint",
    "search_transactions",
]

CUSTOMER_FIELDS: Final = frozenset(
    {
        "authorization",
        "card_last4",
        "customer",
        "customer_email",
        "customer_last_name",
        "customer_name",
        "customer_phone_end",
        "ip_address",
        "log",
        "metadata",
        "unreadable",
    }
)
"""Columns of a transaction that may contain what a payer typed, or say who the payer is."""

_LAST4: Final = re.compile(r"\d{4}", re.ASCII)
_LIKE_A_PHONE: Final = re.compile(r"[+(]?\d[\d\s().\-/]*")


def keys_of(text: str) -> list[str]:
    """Return the keys under which a pasted reference may be stored, one for each mode.

    Empty if the text cannot be a reference.
    """
    try:
        reference = check_reference(clean_pasted(text))
    except InvalidReference:
        return []
    return [text_key(mode, reference) for mode in Mode.values]


def search_transactions(
    request: HttpRequest, queryset: QuerySet[Transaction], search_term: str
) -> QuerySet[Transaction]:
    """Filter by a whole reference, byte for byte; without such a payment, by `_terms_of`."""
    term = clean_pasted(search_term)
    if not term:
        return queryset
    named = queryset.filter(reference_key__in=keys_of(term))
    if named.exists():
        return named
    terms = _terms_of(term, customers=sees_customers(request))
    # In a subquery: otherwise SQLite reads the whole table in the list's order.
    found = Transaction.objects.using(queryset.db).filter(terms)
    return queryset.filter(pk__in=found.values("pk"))


def _terms_of(term: str, *, customers: bool) -> Q:
    """Return what a text may be the beginning of, without regard to case: a reference.

    With `customers` also an e-mail address, a name or a last name, the four last digits of a card,
    or a phone number by its end. Not for others: the results would reveal them letter by letter.
    Each of these has an index.
    """
    terms = Q(reference__istartswith=term)
    if not customers:
        return terms
    name = " ".join(term.split())
    terms |= Q(customer_email__istartswith=term)
    terms |= Q(customer_name__istartswith=name) | Q(customer_last_name__istartswith=name)
    if _LAST4.fullmatch(term):
        terms |= Q(card_last4=term)
    if _LIKE_A_PHONE.fullmatch(term) and (end := phone_end(term)):
        terms |= Q(customer_phone_end=end)
    return terms


def search_hint(request: HttpRequest) -> str:
    """Say what this person can search for."""
    if sees_customers(request):
        return _(
            "The beginning of a reference, an e-mail address or a name, "
            "the last four digits of a card, or a whole phone number."
        )
    return _("The beginning of a reference.")


def open_searched_reference(model_admin: Any, request: HttpRequest) -> HttpResponse | None:
    """Redirect to the one payment, or verification, whose whole reference was searched for.

    None: show the list.
    """
    term = request.GET.get(SEARCH_VAR, "")
    keys = keys_of(term) if request.method == "GET" and "_popup" not in request.GET else []
    if not keys or not model_admin.has_view_permission(request):
        return None
    paid = list(Transaction.objects.filter(reference_key__in=keys)[:2])
    if len(paid) == 1:
        url = model_admin.reverse("payments_pages_transaction_change", paid[0].pk)
        return HttpResponseRedirect(url)
    asked = list(Verification.objects.filter(reference_key__in=keys)[:2])
    if len(asked) != 1 or paid or not request.user.has_perm(permissions.VERIFICATIONS):
        return None
    if url := model_admin.link_to("payments_pages_verification_change", asked[0].pk):
        text = _("The service has not reported a payment with this reference yet.")
        model_admin.message_user(request, text, messages.INFO)
        return HttpResponseRedirect(url)
    return None


def is_hidden(request: HttpRequest, lookup: str) -> bool:
    """Say whether a filter in the URL asks about a column that this person may not see.

    Django allows filters by any column of a list's own model. Without this check,
    `?customer_email__startswith=n` would reveal an address letter by letter.
    """
    return lookup.split("__", maxsplit=1)[0] in CUSTOMER_FIELDS and not sees_customers(request)
