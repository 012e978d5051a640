"""The payment pages' screens: create, change, deactivate and sync pages, at the service first."""

from payments_pages.admin.pages.model_admin import PaymentPageAdmin

__all__ = ["PaymentPageAdmin"]
