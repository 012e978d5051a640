"""Route our site."""

from django.urls import include, path

urlpatterns = [path("payments/", include("payments_pages.urls"))]
