"""The URLs of a site whose admin does not have this model of ours."""

from django.contrib import admin

from payments_pages.models import Transaction

__all__ = ["urlpatterns"]

admin.site.unregister(Transaction)

# After that line: the admin's URLs are those of what is registered when they are asked for.
from tests.integration.setups.project.urls import urlpatterns  # noqa: E402
