"""Let staff see and steer; every action goes through a use case."""

from payments_pages.admin.fulfilments import FulfilmentAdmin
from payments_pages.admin.pages import PaymentPageAdmin
from payments_pages.admin.transactions.model_admin import TransactionAdmin
from payments_pages.admin.verifications import VerificationAdmin

__all__ = ["FulfilmentAdmin", "PaymentPageAdmin", "TransactionAdmin", "VerificationAdmin"]
