"""The admin's screens: payments, references and payment pages. Actions call `staff`."""

from payments_pages.admin.pages import PaymentPageAdmin
from payments_pages.admin.transactions.model_admin import TransactionAdmin
from payments_pages.admin.verifications import VerificationAdmin

__all__ = ["PaymentPageAdmin", "TransactionAdmin", "VerificationAdmin"]
