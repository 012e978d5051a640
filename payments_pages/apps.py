"""The app's configuration."""

from django.apps import AppConfig, apps
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.db.models.signals import post_delete
from django.utils.translation import gettext_lazy as _

__all__ = ["PaymentsPagesConfig"]


class PaymentsPagesConfig(AppConfig):
    """The app: its name, the type of its keys, its checks."""

    name = "payments_pages"
    verbose_name = _("Payments")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, and forget the cards of users who are deleted."""
        from payments_pages import checks, staff  # noqa: F401, PLC0415 - models must be loaded first

        try:
            users = get_user_model()
        except ImproperlyConfigured:
            return  # a site without users
        for model in apps.get_models():
            # A proxy of the user model sends its own signals.
            if model._meta.concrete_model is users:  # noqa: SLF001 - Django documents it
                post_delete.connect(
                    staff.forget_with_owner, sender=model, dispatch_uid="payments_pages.cards"
                )
