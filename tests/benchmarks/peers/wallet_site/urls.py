"""Route the package's own views."""

from django.urls import include, path

urlpatterns = [path("wallet/", include("wallet.urls"))]
