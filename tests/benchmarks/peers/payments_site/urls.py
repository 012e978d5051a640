"""Route the package's own view."""

from django.urls import include, path

urlpatterns = [path("payments/", include("payments.urls"))]
