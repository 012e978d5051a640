"""The app's configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

__all__ = ["PaymentsPagesConfig"]


class PaymentsPagesConfig(AppConfig):
    """The app: its name, the type of its keys, its checks."""

    name = "payments_pages"
    verbose_name = _("Payments")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks."""
        from payments_pages import checks  # noqa: F401, PLC0415 - models must be loaded first
