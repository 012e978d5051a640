"""Let the parts of the pages' admin find each other's addresses, on whatever admin site."""

from django.urls import reverse

from payments_pages.admin.readonly import ServiceAdmin
from payments_pages.models import PaymentPage

__all__ = ["PagesPart"]


class PagesPart(ServiceAdmin):
    """Be a part of the pages' admin."""

    def reverse(self, name: str, *args: object) -> str:
        """Return the address of one of this admin site's views."""
        site = self.admin_site.name
        return reverse(f"admin:{name}", args=args, current_app=site)

    def list_url(self) -> str:
        """Return the address of the list."""
        return self.reverse("payments_pages_paymentpage_changelist")

    def change_url(self, page: PaymentPage) -> str:
        """Return the address of one page's form."""
        return self.reverse("payments_pages_paymentpage_change", page.pk)
