"""The URLs of a site without an admin."""

from django.urls import include, path

from tests.integration.setups.project import shop

urlpatterns = [
    path("payments/", include("payments_pages.urls")),
    path("shop/", include(shop.urlpatterns)),
]
