"""The URLs of most sites: Django's admin, our doors and the shop's own views."""

from django.contrib import admin
from django.urls import include, path

from tests.integration.setups.project import shop

urlpatterns = [
    path("admin/", admin.site.urls),
    path("payments/", include("payments_pages.urls")),
    path("shop/", include(shop.urlpatterns)),
]
