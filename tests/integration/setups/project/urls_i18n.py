"""The URLs of a site that has a language in each of its addresses."""

from django.conf.urls.i18n import i18n_patterns

from tests.integration.setups.project.urls import urlpatterns as usual

urlpatterns = i18n_patterns(*usual)
