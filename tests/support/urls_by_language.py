"""The site's URLs below the language: `/ar/payments/…`."""

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

urlpatterns = i18n_patterns(path("payments/", include("payments_pages.urls")))
