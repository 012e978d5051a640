"""The URLs of a site whose own admin has our models, and Django's has not."""

from django.contrib import admin

from payments_pages.models import PaymentPage, Transaction, Verification

__all__ = ["urlpatterns"]

admin.site.unregister([PaymentPage, Transaction, Verification])

# After that line: the admin's URLs are those of what is registered when they are asked for.
from tests.integration.setups.project.urls_two_admins import urlpatterns  # noqa: E402
