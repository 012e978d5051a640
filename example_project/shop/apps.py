"""Name the shop to Django."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

__all__ = ["ShopConfig"]


class ShopConfig(AppConfig):
    """Register the shop under a short label."""

    name = "example_project.shop"
    label = "shop"
    verbose_name = _("Shop")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect the shop to new pages."""
        from example_project.shop import offers  # noqa: F401, PLC0415 - models must be loaded first
