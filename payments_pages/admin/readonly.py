"""Hold what all our admin classes are: no deletion, no shared transaction, mirrors read-only."""

from django.db.models import Model
from django.http import HttpRequest
from django.urls import URLPattern

from payments_pages.admin.links import reverse_admin
from payments_pages.admin.lists import ListAdmin
from payments_pages.db import outside_transactions
from payments_pages.models import PaymentPage

__all__ = ["PagesPart", "ReadOnlyAdmin", "ServiceAdmin"]


class ServiceAdmin(ListAdmin):
    """Work through the service: no deletion, and no transaction around a network call."""

    actions_on_bottom = False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse to everybody: a page is deactivated, a payment is never forgotten.

        To remove pages that the service does not have is an action of its own.
        """
        return False

    def reverse(self, name: str, *args: object) -> str:
        """Return the URL called `admin:<name>` of this admin site."""
        return reverse_admin(self.admin_site.name, name, *args)

    def get_urls(self) -> list[URLPattern]:
        """Take every view out of `ATOMIC_REQUESTS`: each may lead to a call of the service."""
        urls = super().get_urls()
        for pattern in urls:
            if isinstance(pattern, URLPattern):
                outside_transactions(pattern.callback)
        return urls


class ReadOnlyAdmin(ServiceAdmin):
    """Show a mirror; what can be done about it are actions."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: rows come from the path alone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse: rows change by the path alone."""
        return False


class PagesPart(ServiceAdmin):
    """Be a part of the pages' admin."""

    def list_url(self) -> str:
        """Return the address of the list."""
        return self.reverse("payments_pages_paymentpage_changelist")

    def change_url(self, page: PaymentPage) -> str:
        """Return the address of one page's form."""
        return self.reverse("payments_pages_paymentpage_change", page.pk)
