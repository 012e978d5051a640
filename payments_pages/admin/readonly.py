"""The bases of our admin classes: no deletion, no view in a transaction, mirrors read-only."""

from django.db.models import Model
from django.http import HttpRequest
from django.urls import URLPattern

from payments_pages.admin.links import link_to, reverse_admin
from payments_pages.admin.lists import ListAdmin
from payments_pages.db import outside_transactions
from payments_pages.models import PaymentPage

__all__ = ["PagesAdminMixin", "ReadOnlyAdmin", "ServiceAdmin"]


class ServiceAdmin(ListAdmin):
    """A `ModelAdmin` that may call the service: no deletion, no transaction around a call."""

    actions_on_bottom = False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False: pages are deactivated, and payments are never deleted.

        Pages that the service does not have are removed by an action.
        """
        return False

    def reverse(self, name: str, *args: object) -> str:
        """Return the URL called `admin:<name>` of this admin site."""
        return reverse_admin(self.admin_site.name, name, *args)

    def link_to(self, name: str, *args: object) -> str:
        """Return the same URL, of a page that another admin class of ours has; "" without it."""
        return link_to(self.admin_site.name, name, *args)

    def get_urls(self) -> list[URLPattern]:
        """Exempt every view from `ATOMIC_REQUESTS`: each may call the service."""
        urls = super().get_urls()
        for pattern in urls:
            if isinstance(pattern, URLPattern):
                outside_transactions(pattern.callback)
        return urls


class ReadOnlyAdmin(ServiceAdmin):
    """A `ModelAdmin` of mirrored rows, which only actions change."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: only the path of a confirmation creates rows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False: only the path of a confirmation changes rows."""
        return False


class PagesAdminMixin(ServiceAdmin):
    """The base of the mixins of the payment pages' admin: the URLs that they need."""

    def list_url(self) -> str:
        """Return the URL of the list."""
        return self.reverse("payments_pages_paymentpage_changelist")

    def change_url(self, page: PaymentPage) -> str:
        """Return the URL of one page's form."""
        return self.reverse("payments_pages_paymentpage_change", page.pk)
