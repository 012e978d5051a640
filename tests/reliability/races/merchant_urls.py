"""A merchant's own view beside our doors: it takes an order, and has it confirmed on commit."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from payments_pages.confirmation import confirm_payment_on_commit
from payments_pages.models import Verification

__all__ = ["MEANWHILE", "urlpatterns"]

MEANWHILE: list[Callable[[], object]] = []
"""What rivals do between the view's first query and its order; each once."""


def order(request: HttpRequest, reference: str) -> HttpResponse:
    """Look, and order: under ATOMIC_REQUESTS in one transaction, of which the look is the snapshot."""
    seen = Verification.objects.filter(reference=reference).exists()
    while MEANWHILE:
        MEANWHILE.pop()()
    hidden = seen == Verification.objects.filter(reference=reference).exists()
    confirm_payment_on_commit(reference)
    return HttpResponse("hidden" if hidden else "seen")


urlpatterns = [
    path("payments/", include("payments_pages.urls")),
    path("order/<str:reference>/", order),
]
