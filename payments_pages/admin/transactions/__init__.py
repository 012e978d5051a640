"""The payments' screens: the list, one payment, what staff decide about it, export, totals."""

from payments_pages.admin.transactions.model_admin import TransactionAdmin

__all__ = ["TransactionAdmin"]
