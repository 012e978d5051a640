"""A site that shows its health view to its monitor."""

from django.urls import include, path

from payments_pages.views import health

urlpatterns = [
    path("payments/", include("payments_pages.urls")),
    path("health/", health, name="health"),
]
