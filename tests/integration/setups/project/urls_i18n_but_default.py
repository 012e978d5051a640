"""The URLs of a site that has a language in its addresses, but for its default one."""

from django.conf.urls.i18n import i18n_patterns

from tests.integration.setups.project.urls import urlpatterns as usual

urlpatterns = i18n_patterns(*usual, prefix_default_language=False)
