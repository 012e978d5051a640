"""The admin's screens: payments, references, payment pages, saved cards. Actions call `staff`."""

from payments_pages.admin.cards import SavedCardAdmin
from payments_pages.admin.pages import PaymentPageAdmin
from payments_pages.admin.transactions.model_admin import TransactionAdmin
from payments_pages.admin.verifications import VerificationAdmin

__all__ = ["PaymentPageAdmin", "SavedCardAdmin", "TransactionAdmin", "VerificationAdmin"]
