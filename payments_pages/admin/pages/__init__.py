"""Let staff create, change, deactivate and sync pages, through the service first."""

from payments_pages.admin.pages.model_admin import PaymentPageAdmin

__all__ = ["PaymentPageAdmin"]
