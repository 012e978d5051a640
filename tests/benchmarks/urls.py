"""A site with our doors and one page that has nothing to do with payments."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from payments_pages.models import PaymentPage

__all__ = ["urlpatterns"]


def other(_request: HttpRequest) -> HttpResponse:
    """Answer with one query, as any page of a shop."""
    return HttpResponse(f"{PaymentPage.objects.count()} pages")


urlpatterns = [
    path("other/", other),
    path("payments/", include("payments_pages.urls")),
]
