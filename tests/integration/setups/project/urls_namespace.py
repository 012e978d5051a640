"""The URLs of a site that includes ours under a path and a namespace of its own choice."""

from django.contrib import admin
from django.urls import include, path

from tests.integration.setups.project import shop

ours = include(("payments_pages.urls", "payments_pages"), namespace="pay")
urlpatterns = [
    path("admin/", admin.site.urls),
    path("buy/checkout/", ours),
    path("shop/", include(shop.urlpatterns)),
]
